package capture

import (
	"context"
	"strings"
)

// PeekToken reads the beginning of a body, as [Decode] does the whole, for what it tells
// so soon: the token that the body is sent with, empty when that is not certain yet.
// The error is a *Refusal, for a list of events that begins with something else.
// What is wrong beside that is for Decode to find.
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
		// Only this name wins over those that may follow.
		if firstPresent(f.apiKey) != "" {
			return tokenText(f.apiKey), err
		}
	}
	return "", err
}

// peekList reads the first element of a list.
func (d *decoder) peekList(f *fields) error {
	d.Pos++ // the bracket
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

// CheckKey looks for the project of a token before its events are there. The errors are
// those of [Intake.Accept].
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
