package settings

import (
	"math"
	"time"
)

// querySettings limit queries about events (spec/insights.md §5.4).
var querySettings = []setting{
	{"rollout-interval", text, "DURATION", []string{"1m"}, "how often guarded rollouts are evaluated, 10s to 1h",
		durationIn(func(c *Config) *time.Duration { return &c.RolloutInterval }, 10*time.Second, time.Hour, "from 10s to 1h such as 1m")},
	{"query-timeout", text, "DURATION", []string{"30s"}, "time limit of a query whose client waits for the result, at most 1h",
		queryTime(func(c *Config) *time.Duration { return &c.Queries.Timeout })},
	{"query-timeout-async", text, "DURATION", []string{"5m"}, "time limit of a query that runs in the background, at most 1h",
		queryTime(func(c *Config) *time.Duration { return &c.Queries.AsyncTimeout })},
	{"query-memory", number, "BYTES", []string{"268435456"}, "memory limit of one query",
		intInRange(func(c *Config) *int64 { return &c.Queries.Memory }, 1<<20, math.MaxInt64, "a number of bytes, 1048576 or more")},
	{"query-memory-total", number, "BYTES", []string{"536870912"}, "memory limit of all queries that run at the same time",
		intInRange(func(c *Config) *int64 { return &c.Queries.MemoryTotal }, 1<<20, math.MaxInt64, "a number of bytes, 1048576 or more")},
	{"query-workers", number, "N", []string{"0"}, "queries that run at the same time, at most three per project; 0 is half of the cores",
		intInRange(func(c *Config) *int { return &c.Queries.Workers }, 0, 1024, "a number from 0 to 1024")},
}

func queryTime(field func(*Config) *time.Duration) func(*Config, []string) error {
	return durationIn(field, time.Millisecond, time.Hour, "from 1ms to 1h such as 30s")
}
