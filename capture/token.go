package capture

import (
	"context"
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

// PeekToken decodes the beginning of a body, as [Decode] decodes the whole, to find the token
// before all of the body has arrived. text is the beginning of the body and may end anywhere.
// token is empty if it is not certain yet.
//
// The error is a *Refusal if the body is a list whose first element is not an object. All
// other errors are left for Decode to find.
func PeekToken(text string) (token string, err error) {
	d := decoder{scanner: newScanner(strings.TrimPrefix(text, "\ufeff")), sub: &Submission{}}
	d.Space()
	var f fields
	switch d.Peek() {
	case '[':
		err = d.peekList(&f)
		if token := f.tokenValue(); token != "" {
			return tokenText(token), err
		}
		if len(d.sub.Tokens) > 0 {
			return d.sub.Tokens[0], err
		}
	case '{':
		d.Object(func(key string) bool {
			if key == "batch" && d.Peek() == '[' {
				var first fields
				err = d.peekList(&first)
				return false
			}
			v, ok := d.Raw()
			if ok {
				f.assign(key, v)
			}
			return ok
		})
		// A later api_key would be a duplicate, and the other names have a lower priority, so
		// that only this one is certain.
		if firstPresent(f.apiKey) != "" {
			return tokenText(f.apiKey), err
		}
	}
	return "", err
}

// peekList reads the first element of a list, as far as it is there.
func (d *decoder) peekList(f *fields) error {
	d.Pos++ // skip the bracket
	d.Space()
	switch d.Peek() {
	case 0, ']':
		return nil
	case '{':
	default:
		return notObjectError(0)
	}
	var it Item
	if d.Object(func(key string) bool { return d.readMember(f, key) }) {
		d.finish(&it, f, 0)
	}
	return nil
}

// CheckKey checks that a token belongs to a project, before the events have been read. The
// errors are those of [Intake.Accept].
func (i *Intake) CheckKey(ctx context.Context, token string) error {
	token, err := CheckToken(token)
	switch {
	case err != nil:
		return err
	case !i.isReady():
		return ErrUnavailable
	}
	_, err = i.projects.get(ctx, token, i.now(Origin{}))
	return err
}
