"""The templates that are there from the beginning: what the cloud and its users offer to everybody.

They are chosen to show what a client must cope with: tools, several ports of both protocols, environment
variables, a volume, a CUDA version. The vendor's own SDK reads a list strictly, so each is one that it knows.
"""

from ostler.simulator.account.template import Card, Channel, PortGroup, Template, Tool, Volume

CLOUD = "novita"
SINCE = 1_711_995_567

_JUPYTER = Tool(name="Jupyter", port=8888, protocol="http", description="Start Jupyter Notebook")

SHARED_TEMPLATES: tuple[Template, ...] = (
    Template(
        id="101",
        account=CLOUD,
        name="ubuntu",
        image="novitalabs/ubuntu:22.04",
        channel=Channel.OFFICIAL,
        readme="# Ubuntu 22.04\n\nSSH and Jupyter.",
        description="Plain Ubuntu with SSH and Jupyter",
        author=CLOUD,
        tags=("base",),
        rootfs_gb=10,
        volumes=(Volume("local", 20, "/workspace"),),
        ports=(PortGroup("tcp", (22,)), PortGroup("http", (8888,))),
        envs=(("LANG", "C.UTF-8"),),
        tools=(_JUPYTER,),
        cards=(Card("4090.16c62g", 1),),
        created_at=SINCE,
    ),
    Template(
        id="102",
        account=CLOUD,
        name="pytorch 2.4 cuda 12.4",
        image="novitalabs/pytorch:2.4.0-py3.11-cuda12.4",
        channel=Channel.OFFICIAL,
        readme="# PyTorch 2.4\n\nCUDA 12.4, Python 3.11.",
        description="PyTorch with Jupyter",
        author=CLOUD,
        tags=("pytorch", "cuda"),
        rootfs_gb=60,
        ports=(PortGroup("tcp", (22,)), PortGroup("http", (8888, 6006))),
        tools=(_JUPYTER,),
        cards=(Card("4090.16c62g", 1), Card("A100-80GB.14c240g", 1)),
        min_cuda_version="12.4",
        created_at=SINCE + 86_400,
    ),
    Template(
        id="103",
        account=CLOUD,
        name="vllm-openai",
        image="vllm/vllm-openai:v0.6.3",
        channel=Channel.OFFICIAL,
        readme="# vLLM\n\nAn OpenAI-compatible server on port 8000.",
        description="OpenAI-compatible language model server",
        author=CLOUD,
        tags=("llm",),
        start_command="--model Qwen/Qwen2.5-7B-Instruct --port 8000",
        rootfs_gb=100,
        ports=(PortGroup("http", (8000,)),),
        envs=(("HF_HOME", "/workspace/hf"), ("VLLM_LOGGING_LEVEL", "INFO")),
        cards=(Card("4090.16c62g", 2),),
        min_cuda_version="12.1",
        created_at=SINCE + 2 * 86_400,
    ),
    Template(
        id="104",
        account=CLOUD,
        name="comfyui",
        image="novitalabs/comfyui:v0.3.10",
        channel=Channel.OFFICIAL,
        readme="# ComfyUI\n\nOpen port 8188.",
        description="Image generation by graphs",
        author=CLOUD,
        tags=("image",),
        rootfs_gb=80,
        ports=(PortGroup("tcp", (22,)), PortGroup("http", (8188,))),
        envs=(("COMFYUI_ARGS", "--listen 0.0.0.0"),),
        cards=(Card("4090.16c62g", 1),),
        created_at=SINCE + 3 * 86_400,
    ),
    Template(
        id="201",
        account="1032922317920824",
        name="text-generation-webui",
        image="atinoda/text-generation-webui:default-nightly",
        channel=Channel.COMMUNITY,
        readme="# text-generation-webui",
        description="A web page and an API for language models",
        author="community",
        tags=("llm",),
        entrypoint="/scripts/docker-entrypoint.sh",
        start_command="python3 /app/server.py --listen --api",
        rootfs_gb=60,
        ports=(PortGroup("http", (7860, 5000)),),
        created_at=SINCE + 10 * 86_400,
    ),
    Template(
        id="202",
        account="1032922317920824",
        name="game-streaming",
        image="ghcr.io/games-on-whales/wolf:stable",
        channel=Channel.COMMUNITY,
        readme="# Wolf\n\nStreams a desktop.",
        description="Streams a desktop",
        author="community",
        tags=("streaming",),
        rootfs_gb=40,
        ports=(PortGroup("tcp", (47989, 48010)), PortGroup("http", (47984,))),
        created_at=SINCE + 20 * 86_400,
    ),
    Template(
        id="203",
        account="9141320498493177",
        name="comfyui-worker",
        image="novitalabs/comfyui-worker:v0.0.1",
        channel=Channel.COMMUNITY,
        readme="# ComfyUI worker",
        description="A worker for asynchronous endpoints",
        author="community",
        tags=("image",),
        rootfs_gb=50,
        ports=(PortGroup("http", (8080,)),),
        envs=(("BUCKET_ENDPOINT_URL", ""),),
        created_at=SINCE + 30 * 86_400,
    ),
)


def shared_template(template_id: str) -> Template | None:
    """Return the template of this id that everybody sees."""
    return next((template for template in SHARED_TEMPLATES if template.id == template_id), None)
