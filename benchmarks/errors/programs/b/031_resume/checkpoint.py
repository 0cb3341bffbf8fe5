import os

import torch


def save(path, model, optimizer, epoch, best_acc):
    tmp = path + ".tmp"
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "best_acc": best_acc,
        },
        tmp,
    )
    os.replace(tmp, path)


def load(path, model, optimizer):
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    return ckpt["epoch"] + 1, ckpt["best_acc"]
