package storetest

import "github.com/bunting-flags/bunting/capture/insights/port"

// InsightStore is the store for Insights.
type InsightStore interface {
	HistoryStore
	port.Source
}
