"""The registered policy of a label in a table of results."""

from __future__ import annotations

from ltr_duel.bandits.policy import POLICIES, Policy


def named_policy(label: str) -> Policy | None:
    """Return the policy that a label names, or None if it is not registered, like the policy of a missing plug-in.

    Parameters
    ----------
    label : str
        A name, with parameters if any.

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
    """Return a label, with a remark if the policy knows the horizon or is designed for another regret than average.

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
