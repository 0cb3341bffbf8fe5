"""Advantage actor-critic on a toy corridor."""
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Config:
    length: int = 7
    episodes: int = 40
    gamma: float = 0.97
    actor_lr: float = 3e-3
    critic_lr: float = 1e-2
    seed: int = 7


class Corridor:
    def __init__(self, length):
        self.length = length

    def obs(self):
        v = torch.zeros(self.length)
        v[self.pos] = 1.0
        return v

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        return self.obs()

    def step(self, action):
        self.t += 1
        self.pos = max(0, min(self.length - 1, self.pos + (1 if action == 1 else -1)))
        done = self.pos in (0, self.length - 1) or self.t >= 50
        return self.obs(), (1.0 if self.pos == self.length - 1 else -0.02), done


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, n_out))


def rollout(env, actor):
    states, log_probs, rewards = [env.reset()], [], []
    done = False
    while not done:
        dist = Categorical(logits=actor(states[-1]))
        action = dist.sample()
        nxt, reward, done = env.step(action.item())
        states.append(nxt)
        log_probs.append(dist.log_prob(action))
        rewards.append(reward)
    return torch.stack(states[:-1]), torch.stack(log_probs), rewards


def discounted(rewards, gamma):
    out, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        out.append(acc)
    return torch.tensor(out[::-1])


def train(cfg):
    random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    env, actor, critic = Corridor(cfg.length), mlp(cfg.length, 2), mlp(cfg.length, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=cfg.actor_lr)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=cfg.critic_lr)
    for episode in range(cfg.episodes):
        states, log_probs, rewards = rollout(env, actor)
        returns = discounted(rewards, cfg.gamma)
        advantage = returns - critic(states).squeeze(-1)

        critic_loss = advantage.pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward(retain_graph=True)
        critic_opt.step()

        actor_loss = -(log_probs * advantage).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        if episode % 10 == 0:
            print(f"episode {episode:3d} return {sum(rewards):+.2f}")


if __name__ == "__main__":
    train(Config())
