"""Binary search inside kernels.

numba's own `np.searchsorted` would do, but a stored kernel that has it loads numba's array functions with it, and those
scipy where that is installed: a tenth of a second of every process.
"""

from numba import njit


@njit(inline="always")
def first_at_least(values, value):
    """The first place in the rising `values` that is not below `value`; their number where all are."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
