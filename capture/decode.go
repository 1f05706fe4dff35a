package capture

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

const (
	// maxID is the number of characters of a distinct id that are stored (§3.4).
	maxID = 200
	// maxDecoded bounds the memory of the items of one body, in bytes, not counting the body.
	// Without it, a body of many empty events would grow a hundredfold.
	maxDecoded = 64 << 20
	// maxNameless is the number of items without a name that a list may have. They are
	// dropped individually; a list with more of them does not contain events.
	maxNameless = 1000
	// itemSize and memberSize are the approximate sizes of an Item and a Member, in bytes.
	itemSize, memberSize = 256, 32
	// minReserve is the number of bytes that are reserved first, maxReserve the most that are
	// reserved at a time later.
	minReserve, maxReserve = 16 << 10, 4 << 20
)

// DecodeOptions is the information about a request that is not in its body.
type DecodeOptions struct {
	// Engage reports whether the path is /engage, where an object without a name is an
	// $identify (§3.5).
	Engage bool
	// SentAt is the send time in the URL's query, an integer number of milliseconds since 1970.
	// Other strings are ignored, and so are years up to 2020, which result from seconds, and
	// years after 9999. A send time in the body takes precedence.
	SentAt string
	// Reserve is called before the items of the body use n more bytes of memory. If it
	// returns an error, Decode stops and returns that error. It may be nil.
	Reserve func(n int64) error
}

// Decode decodes the JSON text of a request: a list of events, a batch, or one event (§3).
// Errors of single items are reported in Item.Fault (§4.4); [Intake.Accept] drops these
// items, and items without a name or a distinct id. The Submission keeps the body alive.
//
// The error is a *Refusal or the error of Reserve. A body is refused if it is not JSON, in
// which case the error has the byte offset; if it is of an unknown form or has no events; if
// an element of its list is not an object, or more than 1,000 have no name; or if the items
// need more than 64 MiB of memory.
func Decode(body string, o DecodeOptions) (*Submission, error) {
	d := decoder{sub: &Submission{SentAt: querySentAt(o.SentAt)}, reserve: o.Reserve}
	if err := d.open(body); err != nil {
		return nil, err
	}
	var err error
	switch d.Peek() {
	case '[':
		err = d.readList()
	case '{':
		err = d.readObject(o)
	default:
		err = d.rejectBody()
	}
	if err != nil {
		return nil, err
	}
	return d.sub, nil
}

// rejectBody returns the error for a body that is neither a list nor an object.
func (d *decoder) rejectBody() error {
	if _, ok := d.Raw(); !ok || !d.End() {
		return d.parseProblem()
	}
	return parseError("the body is neither a list nor an object", "")
}

// checkEnd returns an error unless ok is true and the body has been read to its end.
func (d *decoder) checkEnd(ok bool) error {
	if !ok || !d.End() {
		return d.parseProblem()
	}
	return nil
}

// decoder decodes the items of one body.
type decoder struct {
	scanner
	sub *Submission
	// skipped is the number of bytes of the body that were cut off before scanning.
	skipped int
	// spare is a buffer whose unused capacity is for the members of further items.
	spare []Member
	// used is the approximate size of the items so far, see maxDecoded.
	used int
	// reserve may be nil. reserved is the number of bytes it has been called for.
	reserve  func(n int64) error
	reserved int
	// nameless counts the items without a name.
	nameless int
	// outer reports whether the batch's own token has been read. The tokens of its items are
	// then ignored.
	outer bool
	// refusal is an error that is not a syntax error. It may be nil.
	refusal error
}

// open validates the encoding of the body and skips the space at its beginning.
func (d *decoder) open(body string) error {
	if text, ok := strings.CutPrefix(body, "\ufeff"); ok {
		body, d.skipped = text, len("\ufeff")
	}
	if !utf8.ValidString(body) {
		return &Refusal{Kind: Invalid, Code: "invalid_payload", Detail: fmt.Sprintf(
			"failed to decode request: invalid UTF8 in request payload at byte %d", d.skipped+invalidByte(body))}
	}
	d.scanner = newScanner(jsontext.ReplaceHalfPairs(body))
	if d.Space(); d.Pos == len(d.Src) {
		return &Refusal{Kind: Invalid, Code: "no_data", Detail: "request missing data payload"}
	}
	return nil
}

// parseProblem returns the error for which decoding stopped.
func (d *decoder) parseProblem() error {
	if d.refusal != nil {
		return d.refusal
	}
	return parseError(fmt.Sprintf("%s at byte %d", d.Fault.What, d.skipped+d.Fault.Offset), "")
}

func parseError(what, attr string) error {
	return &Refusal{Kind: Invalid, Code: "invalid_payload", Detail: "failed to parse request: " + what, Attr: attr}
}

func noEventError() error {
	return &Refusal{Kind: Invalid, Code: "no_data", Detail: "request holds no event"}
}

// fields are the members of an object that are used, as JSON text. Absent members are empty,
// and null is treated the same. If a key occurs several times, the last one counts.
type fields struct {
	event, uuid, timestamp, offset string
	distinctID, dollarDistinctID   string
	apiKey, token, dollarToken     string
	properties, set, setOnce       []Member
	malformed                      bool // properties are neither an object nor null
	batch, noBatch                 bool // whether batch is a list, or another value
	historical, sentAt             string
}

// readList reads a list of events, the first form of §3.1.
func (d *decoder) readList() error {
	if err := d.checkEnd(d.List(d.readElement)); err != nil {
		return err
	}
	return d.checkItems()
}

// checkItems returns an error if there are no items.
func (d *decoder) checkItems() error {
	if len(d.sub.Items) == 0 {
		return noEventError()
	}
	return nil
}

// notObjectError returns the error for element number n of a list that is not an object. The
// whole list is refused, because it is unlikely to contain events, and may be long.
func notObjectError(n int) error {
	return parseError(fmt.Sprintf("item %d is not an object", n), "")
}

// readObject reads the other forms of §3.1: a batch, which is an object with a list named
// batch, or one event.
func (d *decoder) readObject(o DecodeOptions) error {
	var f fields
	start := d.Pos
	d.limitSize(start)
	if err := d.checkEnd(d.Object(func(key string) bool { return d.readEnvelopeMember(&f, key) })); err != nil {
		return err
	}
	switch {
	case f.batch:
		return d.finishBatch(&f)
	case f.noBatch && isAbsent(f.event):
		return parseError("batch is not a list", "batch")
	case o.Engage && isAbsent(f.event):
		f.event = `"$identify"`
	}
	d.sub.Items = make([]Item, 1)
	d.finish(&d.sub.Items[0], &f, d.Pos-start)
	return nil
}

// readEnvelopeMember reads a member of the outermost object, which is a batch or an event.
func (d *decoder) readEnvelopeMember(f *fields, key string) (ok bool) {
	if key != "batch" {
		return d.readMember(f, key)
	}
	f.batch = d.Peek() == '['
	f.noBatch = !f.batch
	d.sub.Items, d.sub.Tokens, d.outer, d.nameless = d.sub.Items[:0], nil, false, 0
	if f.batch {
		d.outer = f.tokenValue() != ""
		return d.List(d.readElement)
	}
	_, ok = d.Raw()
	return ok
}

func (d *decoder) finishBatch(f *fields) error {
	if !d.sub.setHistorical(f.historical) {
		return parseError("historical_migration is neither true nor false", "historical_migration")
	}
	if at, ok := parseTime(scalar(f.sentAt)); ok {
		d.sub.SentAt = at
	}
	if outer := f.tokenValue(); outer != "" {
		d.sub.Tokens = append(d.sub.Tokens[:0], tokenText(outer))
	}
	return d.checkItems()
}

// setHistorical sets Historical. It returns false if value is not a boolean.
func (s *Submission) setHistorical(value string) bool {
	s.Historical = value == "true"
	return s.Historical || isAbsent(value) || value == "false"
}

// readElement reads one element of a list of events.
func (d *decoder) readElement() bool {
	start := d.Pos
	if d.Peek() != '{' {
		if d.Pos == len(d.Src) || strings.IndexByte(`"[-0123456789tfn`, d.Peek()) < 0 {
			return d.Fail("expected a value")
		}
		d.refusal = notObjectError(len(d.sub.Items))
		return false
	}
	var f fields
	d.limitSize(start)
	if !d.Object(func(key string) bool { return d.readMember(&f, key) }) {
		return false
	}
	if isAbsent(f.event) {
		if d.nameless++; d.nameless > maxNameless {
			d.refusal = parseError(fmt.Sprintf("more than %d items have no event name", maxNameless), "")
			return false
		}
	}
	it := d.newItem(start)
	d.finish(it, &f, d.Pos-start)
	return d.account(len(it.Properties) + len(it.Set) + len(it.SetOnce))
}

// limitSize sets the limits of an item: members are stored only from its first maxAIEvent
// bytes, and at most maxMembers of an object. Larger items are dropped for their size.
func (d *decoder) limitSize(start int) { d.limit, d.truncated = start+maxAIEvent, false }

// newItem appends an item. The size of the first one is used to estimate their number.
func (d *decoder) newItem(start int) *Item {
	if d.sub.Items == nil {
		rest := (len(d.Src) - d.Pos) / (d.Pos - start + 1)
		d.sub.Items = make([]Item, 0, 1+min(rest+rest/8, 1024))
	}
	d.sub.Items = append(d.sub.Items, Item{})
	return &d.sub.Items[len(d.sub.Items)-1]
}

// account adds the size of an item with its members to used.
func (d *decoder) account(members int) bool {
	if d.used += itemSize + members*memberSize; d.used <= maxDecoded {
		return d.used <= d.reserved || d.reserveMore()
	}
	d.refusal = &Refusal{Kind: TooLarge, Code: "payload_too_large", Detail: fmt.Sprintf(
		"maximum event size exceeded: the request contains more than can be accepted at once, send the events after number %d separately", len(d.sub.Items)-1)}
	return false
}

// reserveMore reserves the memory that is used, and some in advance.
func (d *decoder) reserveMore() bool {
	n := max(d.used-d.reserved+min(d.used, maxReserve), minReserve)
	if d.reserve != nil {
		if d.refusal = d.reserve(int64(n)); d.refusal != nil {
			return false
		}
	}
	d.reserved += n
	return true
}

// readMember reads one member of an event.
func (d *decoder) readMember(f *fields, key string) (ok bool) {
	switch key {
	case "properties":
		var other string
		other, ok = d.collect(&f.properties)
		f.malformed = other != "" && other != "null"
		return ok
	case "$set":
		_, ok = d.collect(&f.set)
		return ok
	case "$set_once":
		_, ok = d.collect(&f.setOnce)
		return ok
	}
	v, ok := d.Raw()
	f.assign(key, v)
	return ok
}

// assign stores the JSON text of a member that fields has a field for.
func (f *fields) assign(key, value string) {
	switch key {
	case "event":
		f.event = value
	case "uuid":
		f.uuid = value
	case "timestamp":
		f.timestamp = value
	case "offset":
		f.offset = value
	case "distinct_id":
		f.distinctID = value
	case "$distinct_id":
		f.dollarDistinctID = value
	case "api_key":
		f.apiKey = value
	case "token":
		f.token = value
	case "$token":
		f.dollarToken = value
	case "historical_migration":
		f.historical = value
	case "sent_at":
		f.sentAt = value
	}
}

// tokenValue returns the token of an event or a batch, or the empty string.
func (f *fields) tokenValue() string { return firstPresent(f.apiKey, f.token, f.dollarToken) }

// collect reads the members of an object. If the value is not an object, there are no
// members, and other is its JSON text.
func (d *decoder) collect(to *[]Member) (other string, ok bool) {
	*to = nil
	if d.Peek() != '{' {
		return d.Raw()
	}
	d.growSpare()
	members, ok := d.readMembers(d.spare)
	*to = members[:len(members):len(members)]
	d.spare = members[len(members):]
	return "", ok
}

// growSpare allocates a new spare buffer if less than 16 members fit. Its size is estimated
// from the rest of the body, with one member for each 24 bytes.
func (d *decoder) growSpare() {
	if cap(d.spare) < 16 {
		d.spare = make([]Member, 0, min(max((len(d.Src)-d.Pos)/24, 16), 4096))
	}
}

// finish sets the fields of an item from the members that were read.
func (d *decoder) finish(it *Item, f *fields, size int) {
	it.Size = size
	it.Properties, it.Set, it.SetOnce = f.properties, f.set, f.setOnce
	id := firstPresent(f.distinctID, f.dollarDistinctID)
	token := f.tokenValue()
	if id == "" || token == "" && !d.outer {
		// Browsers send most events with both in the properties (§15.3).
		for _, m := range f.properties {
			switch {
			case m.Key == "distinct_id" && id == "" && m.Value != "null":
				id = m.Value
			case m.Key == "token" && token == "" && m.Value != "null":
				token = m.Value
			}
		}
	}
	if token != "" && !d.outer {
		d.sub.addToken(tokenText(token))
	}
	it.DistinctID = cut(idText(id), maxID)
	it.Name = eventName(f.event)
	it.Timestamp = scalar(f.timestamp)
	it.Offset, it.HasOffset = parseOffset(f.offset)
	var ok bool
	if it.UUID, ok = optionalUUID(f.uuid); !ok {
		it.Fault = invalidUUID
	}
	if f.malformed {
		it.Fault = malformedProperties
	}
	if d.truncated && it.Fault == NotDropped {
		it.Fault = eventTooLarge
	}
}
