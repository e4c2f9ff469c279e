"""Machines of many kinds, as what their files and commands say: written by hand after real ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from solver.machine.machine import LibraryCard

__all__ = ["KINDS", "RecordedMachine"]

NVIDIA = (
    "nvidia-smi",
    "--query-gpu=name,pci.bus_id,memory.total,memory.reserved,memory.used,mig.mode.current",
    "--format=csv,noheader,nounits",
)
OLD_NVIDIA = (
    "nvidia-smi",
    "--query-gpu=name,pci.bus_id,memory.total,memory.used",
    "--format=csv,noheader,nounits",
)
ROCM = ("rocm-smi", "--showproductname", "--showbus", "--showmeminfo", "vram", "--json")
AMD = ("amd-smi", "static", "--asic", "--bus", "--vram", "--json")
DISPLAYS = ("system_profiler", "SPDisplaysDataType", "-json")
WINDOWS_MEMORY = (
    "powershell",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "(Get-CimInstance Win32_ComputerSystem).TotalPhysicalMemory",
)


@dataclass(frozen=True)
class RecordedMachine:
    """Answers from recorded texts; what is not recorded is absent."""

    system: str = "Linux"
    host_name: str = "desk"
    files: dict[str, str] = field(default_factory=dict)
    outputs: dict[tuple[str, ...], str] = field(default_factory=dict)
    library: tuple[LibraryCard, ...] | None = None

    def text(self, path: str) -> str | None:
        """Return a recorded file."""
        return self.files.get(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what the recorded paths have in a folder."""
        start = f"{folder}/"
        return tuple(sorted({path[len(start) :].split("/")[0] for path in self.files if path.startswith(start)}))

    def output(self, *command: str) -> str | None:
        """Return what a command wrote."""
        return self.outputs.get(command)

    def nvidia_library(self) -> tuple[LibraryCard, ...] | None:
        """Return what NVML listed."""
        return self.library

    def but(
        self,
        files: dict[str, str] | None = None,
        outputs: dict[tuple[str, ...], str] | None = None,
        library: tuple[LibraryCard, ...] | None = None,
    ) -> RecordedMachine:
        """Return the machine with more or other recordings."""
        return replace(
            self,
            files=self.files | (files or {}),
            outputs=self.outputs | (outputs or {}),
            library=self.library if library is None else library,
        )


def meminfo(total_kib: int, available_kib: int, huge_pages: int = 0) -> str:
    """Return /proc/meminfo with huge pages of 2 MiB."""
    return (
        f"MemTotal:       {total_kib} kB\nMemFree:        {available_kib // 2} kB\nMemAvailable:   {available_kib} kB\n"
        f"Cached:         1000000 kB\nHugePages_Total:   {huge_pages}\nHugePages_Free:    {huge_pages}\n"
        f"Hugepagesize:       2048 kB\nHugetlb:         {huge_pages * 2048} kB\nDirectMap4k:      1 kB\n"
    )


def drm(number: int, vendor: str, device: str, slot: str, files: dict[str, str] | None = None) -> dict[str, str]:
    """Return the files of a graphics device in sysfs."""
    folder = f"/sys/class/drm/card{number}/device"
    known = {
        "vendor": f"0x{vendor}\n",
        "device": f"0x{device}\n",
        "uevent": f"DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID={vendor.upper()}:{device.upper()}\nPCI_SLOT_NAME={slot}\n",
    }
    # A connector of the card, which is no card.
    connector = {f"/sys/class/drm/card{number}-DP-1/status": "connected\n"}
    return connector | {f"{folder}/{name}": text for name, text in (known | (files or {})).items()}


IGPU = drm(
    1,
    "1002",
    "164e",
    "0000:7a:00.0",
    {
        "mem_info_vram_total": "536870912\n",
        "mem_info_vram_used": "20971520\n",
        "mem_info_gtt_total": "33000000000\n",
        "mem_info_gtt_used": "100000000\n",
    },
)

SERVER = RecordedMachine(
    host_name="server.example.org",
    files={"/proc/meminfo": meminfo(131_000_000, 120_000_000), "/proc/self/cgroup": "0::/user.slice\n"},
)

WORKSTATION = RecordedMachine(
    files={"/proc/meminfo": meminfo(65_000_000, 60_000_000)} | IGPU,
    outputs={
        NVIDIA: (
            "NVIDIA GeForce RTX 4090, 00000000:41:00.0, 24564, 347, 9, [N/A]\n"
            "NVIDIA GeForce RTX 4090, 00000000:01:00.0, 24564, 347, 20000, [N/A]\n"
            "NVIDIA GeForce RTX 3090, 00000000:C1:00.0, 24576, 312, 9, [N/A]\n"
        )
    },
)

OLD_DRIVER = RecordedMachine(
    host_name="old",
    files={"/proc/meminfo": "MemTotal:       32000000 kB\nHugePages_Total:   1024\nHugepagesize:       2048 kB\n"},
    outputs={OLD_NVIDIA: "Tesla P40, 00000000:03:00.0, 22919, 0\nTesla P40, 00000000:04:00.0, 22919, 0\n"},
)

GB10 = RecordedMachine(
    host_name="spark",
    files={"/proc/meminfo": meminfo(127_600_748, 118_566_368)},
    outputs={NVIDIA: "NVIDIA GB10, 0000000F:01:00.0, [N/A], [N/A], [N/A], [N/A]\n"},
)

GB10_BY_LIBRARY = RecordedMachine(
    host_name="spark-2",
    files={"/proc/meminfo": meminfo(127_600_748, 118_566_368)},
    # Some drivers report the host's memory as the card's.
    library=(LibraryCard("NVIDIA GB10", "0000000F:01:00.0", 130_663_165_952, 0, 9_000_000_000, divided=False),),
)

GRACE_HOPPER = RecordedMachine(
    host_name="grace",
    files={
        "/proc/meminfo": meminfo(600_000_000, 590_000_000),
        "/sys/devices/system/node/node0/cpulist": "0-71\n",
        "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       500000000 kB\nNode 0 MemFree: 1 kB\n",
        "/sys/devices/system/node/node1/cpulist": "\n",
        "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       100000000 kB\nNode 1 MemFree: 1 kB\n",
        "/sys/devices/system/node/has_cpu": "0\n",
    },
    outputs={NVIDIA: "NVIDIA GH200 480GB, 00000009:01:00.0, 97871, 500, 0, Disabled\n"},
)

STRIX_HALO = RecordedMachine(
    host_name="strix",
    files={
        "/proc/meminfo": meminfo(131_000_000, 100_000_000),
        "/sys/module/ttm/parameters/pages_limit": "31457280\n",
    }
    | drm(
        1,
        "1002",
        "1586",
        "0000:c5:00.0",
        {"mem_info_vram_total": "536870912\n", "mem_info_gtt_total": "133143986176\n", "mem_info_vram_used": "1\n"},
    ),
    outputs={
        ROCM: (
            "WARNING: AMD GPU device(s) is/are in a low-power state.\n\n"
            '{"card0": {"PCI Bus": "0000:C5:00.0", "VRAM Total Memory (B)": "536870912", '
            '"VRAM Total Used Memory (B)": "1", "Card Series": "AMD Radeon Graphics", "Card Model": "0x1586"}}'
        )
    },
)

STRIX_HALO_CARVED = RecordedMachine(
    host_name="strix-carved",
    files={"/proc/meminfo": meminfo(32_000_000, 28_000_000)}
    | drm(
        0,
        "1002",
        "1586",
        "0000:c5:00.0",
        {"mem_info_vram_total": "103079215104\n", "mem_info_gtt_total": "16384000000\n", "mem_info_vram_used": "0\n"},
    ),
)

RADEONS = RecordedMachine(
    host_name="radeons",
    files={"/proc/meminfo": meminfo(64_000_000, 60_000_000)}
    | drm(
        1,
        "1002",
        "744c",
        "0000:03:00.0",
        {
            "mem_info_vram_total": "25753026560\n",
            "mem_info_vram_used": "27000000\n",
            "mem_info_gtt_total": "32000000000\n",
            "mem_busy_percent": "0\n",
        },
    ),
    outputs={
        AMD: (
            '{"gpu_data": [{"gpu": 0, "asic": {"market_name": "AMD Radeon RX 7900 XTX"}, '
            '"bus": {"bdf": "0000:03:00.0"}, "vram": {"size": {"value": 24560, "unit": "MB"}}}]}'
        )
    },
)

ACCELERATORS = RecordedMachine(
    host_name="accelerators",
    files={"/proc/meminfo": meminfo(2_000_000_000, 1_900_000_000)},
    outputs={
        ROCM: (
            '{"card0": {"PCI Bus": "0000:0C:00.0", "VRAM Total Memory (B)": "206141652992", '
            '"VRAM Total Used Memory (B)": "297000000", "Card series": "AMD Instinct MI300X OAM"}, '
            '"card1": {"PCI Bus": "0000:22:00.0", "VRAM Total Memory (B)": "206141652992", '
            '"VRAM Total Used Memory (B)": "297000000", "Card series": "AMD Instinct MI300X OAM"}, '
            '"system": {"Driver version": "6.10.5"}}'
        ),
        AMD: (
            '[{"asic": {"market_name": "0x74a1"}, "bus": {"bdf": "0000:0c:00.0"}, "vram": {"size": {"value": "N/A"}}}]'
        ),
    },
)

MAC = RecordedMachine(
    system="Darwin",
    host_name="studio.local",
    outputs={
        ("sysctl", "-n", "hw.memsize"): "103079215104\n",
        ("sysctl", "-n", "hw.optional.arm64"): "1\n",
        ("sysctl", "-n", "iogpu.wired_limit_mb"): "0\n",
        ("sysctl", "-n", "machdep.cpu.brand_string"): "Apple M2 Max\n",
        ("vm_stat",): (
            "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:  100000.\n"
            "Pages active:  1000000.\nPages inactive:  900000.\nPages speculative:  0.\nPages purgeable:  0.\n"
        ),
        DISPLAYS: (
            '{"SPDisplaysDataType": [{"_name": "Apple M2 Max", "sppci_model": "Apple M2 Max", "sppci_cores": "38", '
            '"spdisplays_mtlgpufamilysupport": "spdisplays_metal3"}]}'
        ),
    },
)

OLD_MAC = RecordedMachine(
    system="Darwin",
    host_name="imac",
    outputs={
        ("sysctl", "-n", "hw.memsize"): "137438953472\n",
        DISPLAYS: (
            '{"SPDisplaysDataType": [{"sppci_model": "AMD Radeon Pro 5700 XT", "spdisplays_vram": "16 GB"}, '
            '{"sppci_model": "Intel UHD", "spdisplays_vram_shared": "1536 MB"}]}'
        ),
    },
)

WSL = RecordedMachine(
    host_name="laptop",
    files={
        "/proc/meminfo": meminfo(16_000_000, 15_000_000),
        "/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n",
        "/mnt/c/Users/Public/desktop.ini": "",
        "/mnt/c/Users/ada/.wslconfig": "[wsl2]\nmemory=16GB\nprocessors=8\n",
    },
    outputs={NVIDIA: "NVIDIA GeForce RTX 4090 Laptop GPU, 00000000:01:00.0, 16376, 319, 0, [N/A]\n"},
)

INTEL = RecordedMachine(
    host_name="arc",
    files={"/proc/meminfo": meminfo(64_000_000, 60_000_000)}
    | drm(0, "8086", "a780", "0000:00:02.0")
    | drm(1, "8086", "e20b", "0000:03:00.0", {"tile0/physical_vram_size_bytes": "12809404416\n"})
    | drm(2, "8086", "56a1", "0000:04:00.0"),
)

JETSON = RecordedMachine(
    host_name="jetson",
    files={
        "/proc/meminfo": meminfo(64_000_000, 60_000_000),
        "/proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
    },
    outputs={NVIDIA: "Orin (nvgpu), [N/A], [N/A], [N/A], [N/A], [N/A]\n"},
)

DIVIDED = RecordedMachine(
    host_name="mig",
    files={"/proc/meminfo": meminfo(500_000_000, 400_000_000)},
    outputs={NVIDIA: "NVIDIA A100-SXM4-80GB, 00000000:07:00.0, 81920, 615, 0, Enabled\n"},
)

NO_DRIVER = RecordedMachine(
    host_name="nouveau",
    files={"/proc/meminfo": meminfo(32_000_000, 30_000_000)} | drm(0, "10de", "2684", "0000:01:00.0"),
)

WINDOWS = RecordedMachine(
    system="Windows",
    host_name="TOWER",
    outputs={
        WINDOWS_MEMORY: "68608618496\r\n",
        NVIDIA: "NVIDIA GeForce RTX 5090, 00000000:01:00.0, 32607, 500, 1200, [N/A]\r\n",
    },
)

KINDS = {
    machine.host_name: machine
    for machine in (
        SERVER, WORKSTATION, OLD_DRIVER, GB10, GB10_BY_LIBRARY, GRACE_HOPPER, STRIX_HALO, STRIX_HALO_CARVED, RADEONS,
        ACCELERATORS, MAC, OLD_MAC, WSL, INTEL, JETSON, DIVIDED, NO_DRIVER, WINDOWS,
    )
}  # fmt: skip
"""Every kind by the name of its host."""
