package capture

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxToken is the greatest length of a token, in bytes (§3.6).
	maxToken = 64
	// notText represents, in Submission.Tokens, a token that is not a string. It is not valid
	// UTF-8, so no body can contain it.
	notText = "\xff"
)

// CheckToken trims a token and validates its form (§3.6). A token need not begin with phc_.
// The error is a *Refusal.
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

// Token returns the submission's token, validated by [CheckToken]. It is an error if there is
// no token, or if there are different tokens (§3.6). The error is a *Refusal.
func (s *Submission) Token() (string, error) {
	switch {
	case s == nil || len(s.Tokens) == 0:
		return "", &Refusal{Kind: Unauthorized, Code: "missing_api_key", Detail: "event submitted without an api_key"}
	case len(s.Tokens) == 1:
		return CheckToken(s.Tokens[0])
	}
	return "", &Refusal{Kind: Unauthorized, Code: "invalid_api_key", Detail: "batch submitted with inconsistent api_key values"}
}

// tokenText returns a token from its JSON text, trimmed. It returns notText if the token is
// not a string.
func tokenText(value string) string {
	s, ok := text(value)
	if !ok {
		return notText
	}
	return strings.TrimSpace(s)
}

// addToken adds the token of an item unless it is in the list. Two different tokens are
// sufficient to reject the body, so further tokens are not added.
func (s *Submission) addToken(token string) {
	if len(s.Tokens) < 2 && !slices.Contains(s.Tokens, token) {
		s.Tokens = append(s.Tokens, token)
	}
}
