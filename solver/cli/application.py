"""The commands by name. Their modules are imported only when they run, so that `--help` stays fast."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import App, Parameter

from solver.version import VERSION

__all__ = ["COMMANDS", "Command", "application"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the function that runs it as `module:function`, and the sentence that `--help` shows."""

    name: str
    function: str
    summary: str


COMMANDS = (
    Command("plan", "solver.cli.plan:plan", "Place a model on the nodes of a cluster, with a proof: the main job."),
    Command(
        "options",
        "solver.cli.options_command:options",
        "List every way that every artifact could be served, best first, by arithmetic and by the solver.",
    ),
    Command(
        "compare",
        "solver.cli.compare:compare",
        "Set the plan beside the split rules of the engines that people use.",
    ),
    Command("inspect", "solver.cli.inspect:inspect", "Show a model's tensors: bytes by block, role, type or file."),
    Command("check", "solver.cli.check:check", "Audit a plan again from its own inputs, trusting none of its results."),
    Command(
        "verify-log",
        "solver.cli.verify_log:verify_log",
        "Show predicted memory beside what an engine's log says, with the error.",
    ),
    Command("tiers", "solver.cli.closed_form:tiers", "Count the nodes that a model needs, for each size of memory."),
    Command("route", "solver.cli.closed_form:route", "Say by arithmetic whether a model fits a set of unlike nodes."),
    Command("seams", "solver.cli.closed_form:seams", "Say what crosses the boundaries of nodes, and for how long."),
    Command("export", "solver.cli.export:export", "Print what to type on each machine, emulated before it is printed."),
    Command("emulate", "solver.cli.emulate:emulate", "Show where a llama.cpp command would put every tensor."),
    Command("nodes", "solver.cli.nodes:nodes", "Print a cluster file for this machine, ready to be edited and merged."),
    Command("synth", "solver.cli.synth:synth", "Write header-only model files, for tests and demonstrations."),
)

_EPILOGUE = (
    "MODEL is a GGUF or safetensors file, any part of a split set, a folder, an https:// address of a file, "
    "or hf://ORG/REPO[@REVISION][/FILE]. "
    "--debug, with any command, shows the traceback of an error. "
    "Exit codes: 0 answered, 1 the answer is no, 2 bad usage or input, 3 no answer within the limits, "
    "70 an answer was refused by its audit, 130 interrupted."
)


def application() -> App:
    """Return the command line with every command registered and none imported."""
    app = App(
        name="layerfit",
        help="Says, offline and with a proof, whether a model fits on unlike machines and which layers go where.",
        help_epilogue=_EPILOGUE,
        help_format="plaintext",
        version=f"layerfit {VERSION}",
        default_parameter=Parameter(negative=()),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    for position, command in enumerate(COMMANDS):
        app.command(command.function, name=command.name, help=command.summary, sort_key=position, help_epilogue="")
    return app
