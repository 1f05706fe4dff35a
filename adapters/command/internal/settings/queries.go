package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
)

// querySettings limit queries about events (spec/insights.md §5.4).
var querySettings = []setting{
	{"rollout-interval", text, "DURATION", []string{"1m"}, "how often guarded rollouts are evaluated, 10s to 1h",
		durationIn(func(c *Config) *time.Duration { return &c.RolloutInterval }, 10*time.Second, time.Hour, "from 10s to 1h such as 1m")},
	{"query-timeout", text, "DURATION", []string{"30s"}, "time limit of a query whose client waits for the result, at most 1h",
		queryTime(func(c *Config) *time.Duration { return &c.Queries.Timeout })},
	{"query-timeout-async", text, "DURATION", []string{"5m"}, "time limit of a query that runs in the background, at most 1h",
		queryTime(func(c *Config) *time.Duration { return &c.Queries.AsyncTimeout })},
	{"query-memory", number, "BYTES", []string{"0"}, "memory limit of one query; 0 is that of --memory, 268435456 by default",
		bytesOrZero(func(c *Config) *int64 { return &c.Queries.Memory })},
	{"query-memory-total", number, "BYTES", []string{"0"}, "memory limit of all queries that run at the same time; 0 is twice that of --memory",
		bytesOrZero(func(c *Config) *int64 { return &c.Queries.MemoryTotal })},
	{"query-workers", number, "N", []string{"0"}, "queries that run at the same time, at most three per project; 0 is half of the cores",
		intInRange(func(c *Config) *int { return &c.Queries.Workers }, 0, 1024, "a number from 0 to 1024")},
}

// parseSize parses the size of --memory.
func parseSize(text string) (int64, error) {
	for unit, bytes := range map[string]int64{"MB": 1 << 20, "GB": 1 << 30} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			if size := int64(n) * bytes; err == nil && size >= memory.Default {
				return size, nil
			}
		}
	}
	return 0, fmt.Errorf("must be a size of 256MB or more such as 1GB, not %q", text)
}

func queryTime(field func(*Config) *time.Duration) func(*Config, []string) error {
	return durationIn(field, time.Millisecond, time.Hour, "from 1ms to 1h such as 30s")
}
