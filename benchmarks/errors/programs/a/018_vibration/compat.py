"""Optional packages and names that moved between versions."""
import numpy as np

try:
    import cupy as xp
except ImportError:
    xp = np

try:
    import librosa
    HAS_LIBROSA = True
except ImportError:
    librosa = None
    HAS_LIBROSA = False

try:
    trapezoid = np.trapezoid
except AttributeError:
    trapezoid = np.trapz


def make_optimizer(learning_rate):
    import keras

    try:
        return keras.optimizers.legacy.Adam(learning_rate)
    except (AttributeError, ImportError):
        return keras.optimizers.Adam(learning_rate)


def spectrum(signal):
    if HAS_LIBROSA:
        return np.abs(librosa.stft(signal, n_fft=64, hop_length=32)).T
    frames = np.lib.stride_tricks.sliding_window_view(signal, 64)[::32]
    return np.abs(np.fft.rfft(frames * np.hanning(64), axis=1)).astype("float32")
