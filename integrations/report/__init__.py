"""HTML reports: one file that opens offline in any browser, drawn with plotly (extra `report`)."""

from __future__ import annotations

from integrations.report.pages import check_report, save_bench_report, save_report

__all__ = ["check_report", "save_bench_report", "save_report"]
