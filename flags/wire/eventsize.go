package wire

// MaxEventOf returns the maximum length of the JSON text of an event with the given name, in bytes:
// 8 MiB for $ai_generation, $ai_span, $ai_trace, $ai_embedding, $ai_metric and $ai_feedback, which
// contain whole conversations, and 1,000,000 for all other events (capture §4.6).
func MaxEventOf(name string) int {
	switch name {
	case "$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding", "$ai_metric", "$ai_feedback":
		return 8 << 20
	}
	return 1_000_000
}
