"""Look up the registered policy that a label in a table of results names."""

from __future__ import annotations

from ltr_duel.bandits.policy import POLICIES, Policy


def named_policy(label: str) -> Policy | None:
    """Return the policy that a label names, or None if it is not registered (if its plug-in is missing, for example).

    Parameters
    ----------
    label : str
        The name of a policy, with or without parameters.

    Returns
    -------
    Policy or None

    Examples
    --------
    >>> named_policy("savage:delta=0.1").needs_horizon, named_policy("one_of_my_own")
    (True, None)
    """
    return POLICIES.get(label.partition(":")[0])


def marked(label: str) -> str:
    """Return a label, with a remark if the policy uses the horizon or is designed for a regret other than average.

    Parameters
    ----------
    label : str

    Returns
    -------
    str

    Examples
    --------
    >>> marked("rucb"), marked("savage"), marked("winner_stays")
    ('rucb', 'savage (knows T)', 'winner_stays (for weak regret)')
    """
    policy = named_policy(label)
    if policy is None:
        return label
    made = "" if policy.made_for == "average" else f"for {policy.made_for} regret"
    remarks = ", ".join(filter(None, ("knows T" if policy.needs_horizon else "", made)))
    return f"{label} ({remarks})" if remarks else label
