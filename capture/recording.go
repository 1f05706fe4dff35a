package capture

import (
	"fmt"
	"strings"
)

// maxSessionID is the greatest length of the session id of a recording, in characters (§4.6).
const maxSessionID = 70

// DecodeRecording validates the JSON text of a body of session recordings: a list, a single
// recording, or a batch (§7). Recordings are not stored, so it only returns the token,
// checked by [CheckToken], and the number of items. The token, distinct id and session are
// those of the first item, except that a token of the batch takes precedence.
//
// The error is a *Refusal.
func DecodeRecording(body string) (token string, items int, err error) {
	d := recordingDecoder{decoder: decoder{sub: &Submission{}}}
	if err := d.open(body); err != nil {
		return "", 0, err
	}
	if err := d.read(); err != nil {
		return "", 0, err
	}
	if d.items == 0 {
		return "", 0, noEventError()
	}
	if token := firstPresent(d.outer.tokenValue(), d.first.tokenValue(), d.inner.token); token != "" {
		d.sub.addToken(tokenText(token))
	}
	if token, err = d.sub.Token(); err != nil {
		return "", 0, err
	}
	return token, d.items, d.check()
}

// recordingDecoder decodes one body of recordings.
type recordingDecoder struct {
	decoder
	// outer are the fields of the outermost object, first those of the first item.
	outer, first fields
	// inner are the fields of the first item's properties.
	inner recordingFields
	items int
	// noData is the number of the first item without snapshot data, counted from 1. It is 0
	// if there is no such item.
	noData int
}

// recordingFields are the properties of a recording that are used, as JSON text.
type recordingFields struct{ token, distinctID, sessionID, data string }

// read decodes the whole body.
func (d *recordingDecoder) read() error {
	switch d.Peek() {
	case '[':
		return d.checkEnd(d.List(d.readItem))
	case '{':
		return d.readOne()
	}
	return d.rejectBody()
}

// readOne reads an object, which is a recording or a batch.
func (d *recordingDecoder) readOne() error {
	batch := false
	var inner recordingFields
	ok := d.Object(func(key string) bool {
		if key == "batch" && d.Peek() == '[' {
			batch, d.items, d.noData = true, 0, 0
			return d.List(d.readItem)
		}
		return d.readField(&d.outer, &inner, key)
	})
	if !batch && ok {
		d.first, d.outer = d.outer, fields{}
		d.add(&inner)
	}
	return d.checkEnd(ok)
}

// readItem reads one element of a list.
func (d *recordingDecoder) readItem() bool {
	if d.Peek() != '{' {
		if _, ok := d.Raw(); !ok {
			return false
		}
		d.refusal = notObjectError(d.items)
		return false
	}
	var f fields
	var inner recordingFields
	if !d.Object(func(key string) bool { return d.readField(&f, &inner, key) }) {
		return false
	}
	if d.items == 0 {
		d.first = f
	}
	d.add(&inner)
	return true
}

// add counts an item.
func (d *recordingDecoder) add(inner *recordingFields) {
	if d.items++; d.items == 1 {
		d.inner = *inner
	}
	if d.noData == 0 && (inner.data == "" || inner.data[0] != '[' && inner.data[0] != '{') {
		d.noData = d.items
	}
}

// readField reads the value of one member of a recording.
func (d *recordingDecoder) readField(f *fields, inner *recordingFields, key string) (ok bool) {
	if key != "properties" || d.Peek() != '{' {
		v, ok := d.Raw()
		f.assign(key, v)
		return ok
	}
	*inner = recordingFields{}
	return d.Object(func(key string) bool {
		v, ok := d.Raw()
		switch key {
		case "token":
			inner.token = v
		case "distinct_id":
			inner.distinctID = v
		case "$session_id":
			inner.sessionID = v
		case "$snapshot_data":
			inner.data = v
		}
		return ok
	})
}

// check validates the first item, except for its token, and the snapshot data of all items.
func (d *recordingDecoder) check() error {
	invalid := func(attr, detail string) error {
		return &Refusal{Kind: Invalid, Code: "invalid_payload", Detail: detail, Attr: attr}
	}
	session, isText := text(d.inner.sessionID)
	switch {
	case idText(firstPresent(d.first.distinctID, d.first.dollarDistinctID, d.inner.distinctID)) == "":
		return invalid("distinct_id", "event submitted without a distinct_id")
	case isAbsent(d.inner.sessionID):
		return invalid("$session_id", "replay event submitted without session id")
	case !isText || session == "" || len(session) > maxSessionID || strings.ContainsFunc(session, isInvalidSessionRune):
		return invalid("$session_id", fmt.Sprintf("replay event submitted with invalid session id: it may have at most %d letters, digits and hyphens", maxSessionID))
	case d.noData > 0:
		return invalid("$snapshot_data", fmt.Sprintf("replay event submitted without snapshot data (item %d)", d.noData-1))
	}
	return nil
}

// isInvalidSessionRune reports whether a character is not a letter, digit or hyphen of ASCII.
func isInvalidSessionRune(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
