"""PyTorch on a machine without a GPU, as far as dash_attn.tune looks."""


class cuda:  # noqa: N801
    @staticmethod
    def is_available() -> bool:
        return False
