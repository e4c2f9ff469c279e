"""Flags of the named build that are taken: their names, how many values follow, and whether memory depends on them.

common/arg.cpp of b11434. A row is the names of a flag, behind `/` those that switch it off, and one `*` for each value.
A section names the programs that take its rows. Flags that are refused stand in `flag_refusals`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MEMORY_ROWS", "NEUTRAL_ROWS", "OLDER_ROWS"]

_ALL = "server completion cli fit-params"

MEMORY_ROWS: Final = {
    _ALL: """
        -m --model *
        -c --ctx-size *
        -b --batch-size *
        -ub --ubatch-size *
        --swa-full
        -fa --flash-attn *
        -kvo --kv-offload / -nkvo --no-kv-offload
        -ctk --cache-type-k *
        -ctv --cache-type-v *
        -np --parallel *
        --rpc *
        -lm --load-mode *
        -lzm --lazy-mode *
        -dev --device *
        -ot --override-tensor *
        -cmoe --cpu-moe
        -ncmoe --n-cpu-moe *
        -ncffn --n-cpu-ffn *
        -ngl --gpu-layers --n-gpu-layers *
        -sm --split-mode *
        -ts --tensor-split *
        -mg --main-gpu *
        -fit --fit *
        -fitt --fit-target *
        -fitc --fit-ctx *
        --op-offload / --no-op-offload
        --repack / -nr --no-repack
        --lora *
        --lora-scaled *
        -ctkd --spec-draft-type-k --cache-type-k-draft *
        -ctvd --spec-draft-type-v --cache-type-v-draft *
    """,
    "fit-params": "-fitp --fit-print *",
    "server": """
        -kvu --kv-unified / -no-kvu --no-kv-unified
        --kv-unified-per-slot *
    """,
    "server cli": """
        -ctxcp --ctx-checkpoints --swa-checkpoints *
        -cram --cache-ram *
        -mm --mmproj *
        --mmproj-offload / --no-mmproj-offload
        -mmdev --mmproj-device *
        -md --spec-draft-model --model-draft *
        -devd --spec-draft-device --device-draft *
        -ngld --spec-draft-ngl --gpu-layers-draft --n-gpu-layers-draft *
        -otd --spec-draft-override-tensor --override-tensor-draft *
        -cmoed --spec-draft-cpu-moe --cpu-moe-draft
        -ncmoed --spec-draft-n-cpu-moe --spec-draft-ncmoe --n-cpu-moe-draft *
        --spec-draft-n-max *
        --spec-type *
        --spec-default
        --spec-ngram-mod-n-max *
        --spec-ngram-simple-size-m *
        --spec-ngram-map-k-size-m *
        --spec-ngram-map-k4v-size-m *
    """,
}

OLDER_ROWS: Final = {
    _ALL: """
        --mmap / --no-mmap
        --mlock
        -dio --direct-io / -ndio --no-direct-io
    """,
}
"""Spellings of older builds, which the named build calls --load-mode."""

NEUTRAL_ROWS: Final = {
    _ALL: """
        -t --threads *
        -tb --threads-batch *
        -C --cpu-mask *
        -Cr --cpu-range *
        --cpu-strict *
        --prio *
        --poll *
        -Cb --cpu-mask-batch *
        -Crb --cpu-range-batch *
        --cpu-strict-batch *
        --prio-batch *
        --poll-batch *
        -n --predict --n-predict *
        --keep *
        --perf / --no-perf
        -e --escape / --no-escape
        --samplers *
        -s --seed *
        --sampler-seq --sampling-seq *
        --ignore-eos
        --temp --temperature *
        --top-k *
        --top-p *
        --min-p *
        --top-nsigma --top-n-sigma *
        --xtc-probability *
        --xtc-threshold *
        --typical --typical-p *
        --repeat-last-n *
        --repeat-penalty *
        --presence-penalty *
        --frequency-penalty *
        --dry-multiplier *
        --dry-base *
        --dry-allowed-length *
        --dry-penalty-last-n *
        --dry-sequence-breaker *
        --adaptive-target *
        --adaptive-decay *
        --dynatemp-range *
        --dynatemp-exp *
        --mirostat *
        --mirostat-lr *
        --mirostat-ent *
        -l --logit-bias *
        --grammar *
        --grammar-file *
        -j --json-schema *
        -jf --json-schema-file *
        --rope-scaling *
        --rope-scale *
        --rope-freq-base *
        --rope-freq-scale *
        --yarn-orig-ctx *
        --yarn-ext-factor *
        --yarn-attn-factor *
        --yarn-beta-slow *
        --yarn-beta-fast *
        --no-host
        -dt --defrag-thold *
        --numa *
        --check-tensors
        -hft --hf-token *
        --log-disable
        --log-file *
        --log-jsonl / --no-log-jsonl
        --log-colors *
        -v --verbose --log-verbose
        --offline
        -lv --verbosity --log-verbosity *
        --log-prefix / --no-log-prefix
        --log-timestamps / --no-log-timestamps
    """,
    "server completion cli": """
        --context-shift / --no-context-shift
        -r --reverse-prompt *
        -sp --special
        --warmup / --no-warmup
        --jinja / --no-jinja
        --reasoning-format *
        -rea --reasoning *
        --reasoning-effort *
        --reasoning-budget *
        --reasoning-budget-message *
        --reasoning-preserve / --no-reasoning-preserve
        --chat-template *
        --chat-template-file *
        --skip-chat-parsing / --no-skip-chat-parsing
    """,
    "completion cli fit-params": """
        -p --prompt *
        -f --file *
        -bf --binary-file *
    """,
    "completion cli": """
        --verbose-prompt
        --display-prompt / --no-display-prompt
        -co --color *
        -sys --system-prompt *
        -sysf --system-prompt-file *
        -st --single-turn
        -mli --multiline-input
        --simple-io
    """,
    "cli": """
        --show-timings / --no-show-timings
        --image --audio --video *
        -o --output --output-file *
    """,
    "completion": """
        -ptc --print-token-count *
        --prompt-cache *
        --prompt-cache-all
        --prompt-cache-ro
        -cnv --conversation / -no-cnv --no-conversation
        -i --interactive
        -if --interactive-first
        --in-prefix-bos
        --in-prefix *
        --in-suffix *
        -gan --grp-attn-n *
        -gaw --grp-attn-w *
    """,
    "server": """
        -lcs --lookup-cache-static *
        -lcd --lookup-cache-dynamic *
        -cms --checkpoint-min-step *
        --cache-idle-slots / --no-cache-idle-slots
        --spm-infill
        -cb --cont-batching / -nocb --no-cont-batching
        -a --alias *
        --tags *
        --embd-normalize *
        --host *
        --port *
        --reuse-port
        --path *
        --cors-origins *
        --cors-methods *
        --cors-headers *
        --cors-credentials / --no-cors-credentials
        --api-prefix *
        --ui-config --webui-config *
        --ui-config-file --webui-config-file *
        --ui-mcp-proxy --webui-mcp-proxy / --no-ui-mcp-proxy --no-webui-mcp-proxy
        --tools *
        --tools-runtime *
        --mcp-servers-config *
        --mcp-servers-json *
        -ag --agent / -no-ag --no-agent
        --ui --webui / --no-ui --no-webui
        --api-key *
        --api-key-file *
        --ssl-key-file *
        --ssl-cert-file *
        -to --timeout *
        --sse-ping-interval *
        --threads-http *
        --cache-prompt / --no-cache-prompt
        --cache-reuse *
        --metrics
        --props
        --slots / --no-slots
        --slot-save-path *
        --media-path *
        --prefill-assistant / --no-prefill-assistant
        -sps --slot-prompt-similarity *
        --lora-init-without-apply
        --sleep-idle-seconds *
    """,
    "server cli": """
        --mmproj-auto / --no-mmproj --no-mmproj-auto
        --video-fps *
        --video-timestamp-interval *
        --video-ffmpeg-dir *
        --chat-template-kwargs *
        --log-prompts-dir *
        -td --spec-draft-threads --threads-draft *
        -tbd --spec-draft-threads-batch --threads-batch-draft *
        -Cd --spec-draft-cpu-mask --cpu-mask-draft *
        -Crd --spec-draft-cpu-range --cpu-range-draft *
        --spec-draft-cpu-strict --cpu-strict-draft *
        --spec-draft-prio --prio-draft *
        --spec-draft-poll --poll-draft *
        -Cbd --spec-draft-cpu-mask-batch --cpu-mask-batch-draft *
        --spec-draft-cpu-strict-batch --cpu-strict-batch-draft *
        --spec-draft-prio-batch --prio-batch-draft *
        --spec-draft-poll-batch --poll-batch-draft *
        --spec-draft-n-min *
        --spec-ngram-mod-n-min *
        --spec-ngram-mod-n-match *
        --spec-ngram-simple-size-n *
        --spec-ngram-simple-min-hits *
        --spec-ngram-map-k-size-n *
        --spec-ngram-map-k-min-hits *
        --spec-ngram-map-k4v-size-n *
        --spec-ngram-map-k4v-min-hits *
        --spec-synth-len *
        --spec-synth-rates *
        --spec-draft-p-split --draft-p-split *
        --spec-draft-p-min --draft-p-min *
        --spec-draft-sampling *
    """,
}
