import numpy as np
def thin(draws, weights, size):
    if len(draws) <= size: return draws, weights
    index = np.minimum(np.searchsorted(np.cumsum(weights), (np.arange(size)+.5)/size), len(weights)-1)
    return draws[index], np.full(size, 1/size)
