package wire

// MaxEvent is the longest JSON text of one event, in bytes (capture §4.6), MaxAIEvent that of
// the events of language models, which hold whole conversations.
const (
	MaxEvent   = 1_000_000
	MaxAIEvent = 8 << 20
)

// MaxEventOf returns how long the JSON text of an event of a name may be, in bytes:
// MaxEvent, and MaxAIEvent for $ai_generation, $ai_span, $ai_trace, $ai_embedding, $ai_metric
// and $ai_feedback.
func MaxEventOf(name string) int {
	switch name {
	case "$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding", "$ai_metric", "$ai_feedback":
		return MaxAIEvent
	}
	return MaxEvent
}
