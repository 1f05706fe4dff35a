package wire

// MaxEventOf returns how long the JSON text of an event of a name may be, in bytes:
// 1,000,000, and 8 MiB for $ai_generation, $ai_span, $ai_trace, $ai_embedding, $ai_metric
// and $ai_feedback, which hold whole conversations (capture §4.6).
func MaxEventOf(name string) int {
	switch name {
	case "$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding", "$ai_metric", "$ai_feedback":
		return 8 << 20
	}
	return 1_000_000
}
