"""A freeze that goes wrong: the block stops the layer that was meant to train.

`layer1` and `layer2` are to keep their weights while `layer3` learns. But `no_grad` switches off
recording for what runs *inside* it. The output has no graph, and no parameter of the model can
learn. Run it (with torch installed) to see PyTorch's own words, or ask `gradlint check`.
"""

import torch
from torch import nn


class ThreeLayers(nn.Module):
    """Maps `(batch, 10)` to `(batch, 1)`."""

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(10, 20)
        self.layer2 = nn.Linear(20, 30)
        self.layer3 = nn.Linear(30, 1)

    def forward(self, x):
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        with torch.no_grad():
            x = self.layer3(x)
        return x


def train_one_step(model, inputs, targets):
    """Makes one step of gradient descent on the squared error."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    print(train_one_step(ThreeLayers(), torch.randn(8, 10), torch.randn(8, 1)))
