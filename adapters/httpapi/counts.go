package httpapi

import "time"

// Latency describes the response times of one route for one class of status.
type Latency struct {
	// Route is the pattern of a route, or "other" for requests that match no route.
	Route string
	// Class is 1xx to 5xx.
	Class string
	// Count is the number of responses; Sum is their total time.
	Count uint64
	Sum   time.Duration
	// Within maps each upper bound, in seconds, to the number of responses that took at most that
	// long.
	Within map[float64]uint64
}

// Latencies returns totals since the handler was created, for the routes that have been requested.
// Streams are not included. It may be called concurrently.
func (h *Handler) Latencies() []Latency {
	if !h.isReady() {
		return nil
	}
	var out []Latency
	for _, l := range h.server.LatencyTotals() {
		out = append(out, Latency(l))
	}
	return out
}

// Usage is the usage of a resource by one SDK with one key.
type Usage struct {
	// Token is the public or secret key of the project.
	Token string
	// Resource is events or feature_flags. N is in the units of quotas.
	Resource string
	// Key is project for the project's public key, otherwise the masked key.
	Key string
	// SDK is the name of the SDK without a version: one of sdks, or other.
	SDK string
	N   int64
}

// TakeUsage returns the usage since the last call, in no particular order. It is for reports, not
// for quotas, which are counted separately. It may be called concurrently.
func (h *Handler) TakeUsage() []Usage {
	if !h.isReady() {
		return nil
	}
	list := h.server.Usage.Take()
	out := make([]Usage, len(list))
	for i, u := range list {
		out[i] = Usage(u)
	}
	return out
}

// EvaluationCount is the number of evaluations of a flag that resulted in a value.
type EvaluationCount struct {
	// Token is the public key of the project.
	Token, Flag string
	Value       string // true, false or a variant
	N           int64
}

// TakeEvaluationCounts returns the counts since its last call, in no particular order, and resets
// them. It may be called concurrently with requests.
func (h *Handler) TakeEvaluationCounts() (out []EvaluationCount) {
	if !h.isReady() {
		return nil
	}
	for _, n := range h.sdk.Evaluations.Take() {
		out = append(out, EvaluationCount(n))
	}
	return out
}
