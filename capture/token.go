package capture

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxToken is the longest token, in bytes (§3.6).
	maxToken = 64
	// notText stands in Submission.Tokens for a token that is no string. No body
	// holds it, because it is no UTF-8.
	notText = "\xff"
)

// CheckToken trims a token and checks its form (§3.6); a token need not begin
// with phc_. The error is a *Refusal.
func CheckToken(token string) (string, error) {
	if token == notText {
		return "", tokenError("not_a_string")
	}
	token = strings.TrimSpace(token)
	switch {
	case token == "":
		return "", tokenError("empty")
	case len(token) > maxToken:
		return "", tokenError("too_long")
	case strings.IndexFunc(token, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0:
		return "", tokenError("not_ascii")
	case strings.HasPrefix(token, "phx_"):
		return "", tokenError("personal_api_key")
	case strings.IndexByte(token, 0) >= 0:
		return "", tokenError("null_byte")
	}
	return token, nil
}

func tokenError(reason string) error {
	return &Refusal{Kind: Unauthorized, Code: "invalid_api_key", Detail: "API key is not valid: " + reason}
}

// Token is the submission's token, checked by [CheckToken]. There has to be one,
// and no two that differ (§3.6). The error is a *Refusal.
func (s *Submission) Token() (string, error) {
	switch {
	case s == nil || len(s.Tokens) == 0:
		return "", &Refusal{Kind: Unauthorized, Code: "missing_api_key", Detail: "event submitted without an api_key"}
	case len(s.Tokens) == 1:
		return CheckToken(s.Tokens[0])
	}
	return "", &Refusal{Kind: Unauthorized, Code: "invalid_api_key", Detail: "batch submitted with inconsistent api_key values"}
}

// tokenText is a token of a body, from its JSON text: trimmed, or notText.
func tokenText(value string) string {
	s, ok := text(value)
	if !ok {
		return notText
	}
	return strings.TrimSpace(s)
}

// addToken keeps a token of an item unless it is known. Two that differ are
// enough to refuse the body, so no more are kept.
func (s *Submission) addToken(token string) {
	if len(s.Tokens) < 2 && !slices.Contains(s.Tokens, token) {
		s.Tokens = append(s.Tokens, token)
	}
}
