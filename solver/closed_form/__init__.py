"""Closed forms: what arithmetic alone says about fitting a model on nodes, before any block is placed.

The yardstick beside every solved plan, so it shares no code with the solver. docs/closed-form.md has the mathematics.
"""

from solver.closed_form.cache import GLM_5_2 as GLM_5_2
from solver.closed_form.cache import ArchitectureFacts as ArchitectureFacts
from solver.closed_form.cache import kv_bytes as kv_bytes
from solver.closed_form.check import DeviceLoad as DeviceLoad
from solver.closed_form.check import PlanCheck as PlanCheck
from solver.closed_form.check import check_plan as check_plan
from solver.closed_form.check import imbalance_ceiling as imbalance_ceiling
from solver.closed_form.check import indivisible_blocks as indivisible_blocks
from solver.closed_form.memory import REFERENCE_RESERVE as REFERENCE_RESERVE
from solver.closed_form.memory import Memory as Memory
from solver.closed_form.memory import NodeMemory as NodeMemory
from solver.closed_form.memory import PooledMemory as PooledMemory
from solver.closed_form.memory import ReservePolicy as ReservePolicy
from solver.closed_form.proven import MeasuredBalance as MeasuredBalance
from solver.closed_form.proven import ProvenRoute as ProvenRoute
from solver.closed_form.proven import ProvenTier as ProvenTier
from solver.closed_form.route import MemoryView as MemoryView
from solver.closed_form.route import RouteNode as RouteNode
from solver.closed_form.route import RoutePlan as RoutePlan
from solver.closed_form.route import plan_route as plan_route
from solver.closed_form.seams import SeamsPlan as SeamsPlan
from solver.closed_form.seams import plan_seams as plan_seams
from solver.closed_form.seams import sideband_crosses as sideband_crosses
from solver.closed_form.topology import TIERS_BYTES as TIERS_BYTES
from solver.closed_form.topology import TopologyPlan as TopologyPlan
from solver.closed_form.topology import plan_all_tiers as plan_all_tiers
from solver.closed_form.topology import plan_topology as plan_topology
