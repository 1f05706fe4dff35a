package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bunting-flags/bunting/capture/queries"
)

var (
	queryOutcomes = prometheus.NewDesc("bunting_query_total", "Queries that were run, by kind and outcome.", []string{"kind", "outcome"}, nil)
	querySeconds  = prometheus.NewDesc("bunting_query_seconds", "Duration of queries, by kind.", []string{"kind"}, nil)
	queryCache    = prometheus.NewDesc("bunting_query_cache_total", "Requested queries, by result of the cache lookup.", []string{"result"}, nil)

	queryMetrics = []metric[queries.Stats]{
		row(counter, "query_rows_read_total", "Events that queries have read.", func(s *queries.Stats) float64 { return float64(s.RowsRead) }),
		row(gauge, "query_running", "Queries that are running.", func(s *queries.Stats) float64 { return float64(s.Running) }),
		row(gauge, "query_waiting", "Queries that wait for their turn.", func(s *queries.Stats) float64 { return float64(s.Waiting) }),
		row(gauge, "query_memory_bytes", "Memory limit of the queries that are running.", func(s *queries.Stats) float64 { return float64(s.MemoryBytes) }),
	}
)

func (c *Config) describeQueries(out chan<- *prometheus.Desc) {
	describe(out, queryMetrics, c.Queries != nil)
	if c.Queries != nil {
		out <- queryOutcomes
		out <- querySeconds
		out <- queryCache
	}
}

func (c *Config) collectQueries(out chan<- prometheus.Metric) {
	if c.Queries == nil {
		return
	}
	s := c.Queries()
	collect(out, queryMetrics, &s)
	for outcome, n := range s.Outcomes {
		out <- number(queryOutcomes, counter, float64(n), outcome.Kind, outcome.Outcome)
	}
	for result, n := range s.Cache {
		out <- number(queryCache, counter, float64(n), result)
	}
	for kind, h := range s.Seconds {
		within := map[float64]uint64{}
		for i, bound := range queries.SecondsBounds {
			within[bound] = h.Within[i]
		}
		out <- prometheus.MustNewConstHistogram(querySeconds, h.Count, h.Sum, within, kind)
	}
}
