"""Stock brokers to the outside: what crossed to and from each, and whether this broker owns it."""

from gossamer.mesh.stock.stock import Stock
from gossamer.mesh.stock.stocks import Stocks


def stock_counts(stock: Stock) -> dict[str, int]:
    """Everything countable about one."""
    traffic = stock.traffic()
    return {
        "connected": int(stock.connection is not None),
        "owner": int(stock.is_owner),
        "subscribed": len(stock.asked) if stock.is_owner else 0,
        "messages_received": traffic.messages_received,
        "messages_sent": traffic.messages_sent,
        "queued": stock.session.queued(),
        "inflight": len(stock.session.inflight),
    }


def stock_statistics(stocks: Stocks) -> dict[str, str]:
    """Topic (under `$SYS/mesh/`) to value."""
    found: dict[str, str] = {}
    for name, stock in stocks.by_name.items():
        for field, count in stock_counts(stock).items():
            found[f"stock/{name}/{field.replace('_', '/')}"] = str(count)
    return found
