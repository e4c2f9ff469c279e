"""Flags of the named build that are refused, each with its reason, and the flags of llama-bench.

Rows are written as in `flag_rows`; the reason stands behind `:`, and what to do, where it is not to leave the flag out,
behind `>`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BENCH_MEMORY", "BENCH_NEUTRAL", "BENCH_REFUSED", "FORK_FLAGS", "REFUSED_ROWS"]

FORK_FLAGS: Final = frozenset(
    {
        "-mla",
        "--mla-use",
        "-fmoe",
        "--fused-moe",
        "-no-fmoe",
        "-amb",
        "--attention-max-batch",
        "-ser",
        "--smart-expert-reduction",
        "-rtr",
        "--run-time-repack",
        "-gr",
        "--graph-reuse",
        "-ger",
        "--grouped-expert-routing",
        "-mqkv",
        "--merge-qkv",
        "-muge",
        "--merge-up-gate-experts",
        "-smgs",
        "-khad",
        "--k-cache-hadamard",
        "-sas",
        "-cuda",
        "--cuda-params",
        "-rcache",
        "--rope-cache",
    }
)
"""Flags that only ik_llama.cpp has, a fork whose commands are often pasted."""

REFUSED_ROWS: Final = {
    "server completion cli fit-params": """
        -h --help --usage : it prints a text and ends
        --version : it prints a text and ends
        -cl --cache-list : it prints a text and ends
        --completion-bash : it prints a text and ends
        --list-devices : it prints a text and ends
        -bs --backend-sampling : samplers on a device take memory that is not sized here
        --override-kv * : it changes what the header says
        --control-vector * : its tensors are not sized here
        --control-vector-scaled * : its tensors are not sized here
        --control-vector-layer-range * * : its tensors are not sized here
        -mu --model-url * : it fetches a model; expected a file > Write -m and the file.
        -dr --docker-repo * : it fetches a model; expected a file > Write -m and the file.
        -hf -hfr --hf-repo * : it fetches a model; expected a file > Write -m hf://OWNER/NAME/FILE, or -m and the file.
        -hff --hf-file * : it fetches a model; expected a file > Write -m and the file.
    """,
    "cli": "--server-base * : no model is loaded then",
    "server": """
        --pooling * : outputs of embeddings are not sized here
        --embedding --embeddings : outputs of embeddings are not sized here
        --rerank --reranking : outputs of embeddings are not sized here
        --models-dir * : it is a router, which loads models when they are asked for
        --models-preset * : it is a router, which loads models when they are asked for
        --models-max * : it is a router, which loads models when they are asked for
        --models-autoload / --no-models-autoload : it is a router, which loads models when they are asked for
        --spec-ngram-size-n * : the named build has removed it
        --spec-ngram-size-m * : the named build has removed it
        --spec-ngram-min-hits * : the named build has removed it
        --embd-gemma-default : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-1.5b-default : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-3b-default : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-7b-default : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-7b-spec : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-14b-spec : it fetches a model; expected a file > Write -m and the file.
        --fim-qwen-30b-default : it fetches a model; expected a file > Write -m and the file.
        --mtmd-batch-max-tokens * : buffers for images are not sized here
    """,
    "server cli": """
        -mmu --mmproj-url * : it fetches a model; expected a file > Write --mmproj and the file.
        -hfd -hfrd --spec-draft-hf --hf-repo-draft * : it fetches a model; expected a file > Write -md and the file.
        --image-min-tokens * : buffers for images are not sized here
        --image-max-tokens * : buffers for images are not sized here
        --spec-draft-backend-sampling / --no-spec-draft-backend-sampling : samplers on a device are not sized here
        --draft --draft-n --draft-max * : the named build has removed it > Write --spec-draft-n-max.
        --draft-min --draft-n-min * : the named build has removed it > Write --spec-draft-n-min.
        --gpt-oss-20b-default : it fetches a model; expected a file > Write -m and the file.
        --gpt-oss-120b-default : it fetches a model; expected a file > Write -m and the file.
        --vision-gemma-4b-default : it fetches a model; expected a file > Write -m and the file.
        --vision-gemma-12b-default : it fetches a model; expected a file > Write -m and the file.
    """,
}

BENCH_MEMORY: Final = """
    -m --model *
    -p --n-prompt *
    -n --n-gen *
    -pg *
    -d --n-depth *
    -b --batch-size *
    -ub --ubatch-size *
    -ctk --cache-type-k *
    -ctv --cache-type-v *
    -dev --device *
    -ngl --n-gpu-layers *
    -ncmoe --n-cpu-moe *
    -rpc --rpc *
    -sm --split-mode *
    -lm --load-mode *
    -mmp --mmap *
    -lzm --lazy-mode *
    -mg --main-gpu *
    -nkvo --no-kv-offload *
    -fa --flash-attn *
    -nopo --no-op-offload *
    --repack *
    -ts --tensor-split *
    -ot --override-tensor *
"""

BENCH_NEUTRAL: Final = """
    -hft --hf-token *
    --offline
    -t --threads *
    -C --cpu-mask *
    --cpu-strict *
    --poll *
    --numa *
    --no-host *
    -r --repetitions *
    --prio *
    --delay *
    -o --output *
    -oe --output-err *
    -v --verbose
    --progress
    --no-warmup
"""

BENCH_REFUSED: Final = """
    -h --help : it prints a text and ends
    --version : it prints a text and ends
    --list-devices : it prints a text and ends
    -hf -hfr --hf-repo * : it fetches a model; expected a file > Write -m hf://OWNER/NAME/FILE, or -m and the file.
    -hff --hf-file * : it fetches a model; expected a file > Write -m and the file.
    -embd --embeddings * : outputs of embeddings are not sized here
    -fitt --fit-target * : it lets the program choose the placement, which is not emulated
    -fitc --fit-ctx * : it lets the program choose the placement, which is not emulated
"""
