package capture

import (
	"context"
	"strings"
)

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
