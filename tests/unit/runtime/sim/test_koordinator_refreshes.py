"""The refreshes of all runtime quotas of a simulated Koordinator, which scale one guarantee after another."""

from __future__ import annotations

from apportion_runtime.engines.koordinator.configuration import read_configuration
from apportion_runtime.engines.koordinator.quota_accounts import QuotaAccounts
from apportion_runtime.engines.koordinator.quota_specs import read_quotas
from apportion_runtime.engines.koordinator.revocation import Revocation

from .koordinator_clusters import GPU, config_map, profile, quota


def _accounts(least: int) -> QuotaAccounts:
    quotas = [quota("a", 6, 8), quota("b", least, 8, lends=False)]
    accounts = QuotaAccounts(read_quotas(quotas, ()), read_configuration([config_map(profile())]))
    accounts.set_capacity([({}, {GPU: 8})])
    pod = {"metadata": {"labels": {"quota.scheduling.koordinator.sh/name": "a"}}}
    accounts.add("pod", pod, {GPU: 8})
    return accounts


def test_first_refresh_divides_with_unscaled_guarantees_of_later_quotas() -> None:
    accounts = _accounts(least=3)
    refreshes = Revocation(accounts, delay_s=60.0, start=0.0)
    limits: list[int] = []
    while not limits or not refreshes.is_settled:
        refreshes.refresh(refreshes.next_refresh)
        limits.append(accounts.limit("a")[GPU])
    assert limits == [5, 6]
    assert accounts.limit("b") == {GPU: 2}


def test_guarantees_that_fit_need_one_refresh() -> None:
    refreshes = Revocation(_accounts(least=2), delay_s=60.0, start=0.0)
    refreshes.refresh(0.0)
    assert refreshes.is_settled


def test_resource_whose_last_node_left_is_divided_as_none() -> None:
    accounts = _accounts(least=2)
    accounts.refresh("a")
    assert accounts.limit("a") == {GPU: 6}
    accounts.set_capacity([])
    accounts.refresh("a")
    assert accounts.limit("a") == {GPU: 0}
