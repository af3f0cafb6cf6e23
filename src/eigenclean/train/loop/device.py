"""Where the training runs: accelerate chooses the device, the precision and the processes."""

from accelerate import Accelerator  # type: ignore[import-untyped]

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name

PRECISIONS = ("no", "fp16", "bf16")


def make_accelerator(device: str | None = None, mixed_precision: str = "no") -> Accelerator:
    """An accelerator for "cpu", or for the best device there is (None).

    >>> make_accelerator("cpu").device
    device(type='cpu')
    """
    if device not in (None, "cpu"):
        raise InvalidOption(
            f"device must be 'cpu' or None for the best there is, got {device!r}; "
            "choose among several GPUs with CUDA_VISIBLE_DEVICES"
        )
    check_name(mixed_precision, PRECISIONS, by="training", what="mixed_precision")
    try:
        return Accelerator(cpu=device == "cpu", mixed_precision=mixed_precision)
    except ValueError as error:  # accelerate's state belongs to the process and cannot be changed in it
        raise InvalidOption(
            f"device={device!r} with mixed_precision={mixed_precision!r} does not fit this machine, or "
            f"with what was chosen earlier in this process; start a new one ({str(error).splitlines()[0]})"
        ) from None
