"""What a training run needs beside the engine: sizes of images, the model card."""
