package capture

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxID is how many characters of a distinct id count (§3.4).
	maxID = 200
	// maxDecoded bounds what the items of one body take in memory beside the body,
	// in bytes: a body of many empty events would else grow a hundredfold.
	maxDecoded = 64 << 20
	// maxNameless is how many items of one list may be without a name. They are
	// dropped one by one; a list of more holds something else than events.
	maxNameless = 1000
	// itemSize and memberSize are about what an Item and a Member take, in bytes.
	itemSize, memberSize = 256, 32
	// minReserve is how much of it is reserved at the beginning, maxReserve how
	// much at a time later.
	minReserve, maxReserve = 16 << 10, 4 << 20
)

// DecodeOptions are what a request says beside its body.
type DecodeOptions struct {
	// Engage: the path was /engage, where an object without a name is an $identify
	// (§3.5).
	Engage bool
	// SentAt is the query's send time, see [QuerySentAt]; zero when there is none.
	// That of a batch wins over it.
	SentAt time.Time
	// Reserve is asked before the items of the body take n more bytes of memory. Its
	// error ends the decoding and is returned. Nil: nobody is asked.
	Reserve func(n int64) error
}

// Decode reads the JSON text of a request: a list of events, a batch, or one
// event (§3). What is wrong with single items stands in their Fault (§4.4): it
// is for [Intake.Accept] to drop them, as well as those without a name or a
// distinct id. The Submission keeps the body alive.
//
// The error is a *Refusal: bodies that are no JSON, with the place in bytes, or
// of no known shape; that hold no event; whose list has an element that is no
// object, at the first of them, or more than 1,000 without a name; or whose items take more than 64 MiB in memory.
func Decode(body string, o DecodeOptions) (*Submission, error) {
	d := decoder{sub: &Submission{SentAt: o.SentAt}, reserve: o.Reserve}
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

// rejectBody refuses a body that is neither a list nor an object.
func (d *decoder) rejectBody() error {
	if _, ok := d.Raw(); !ok || !d.End() {
		return d.parseProblem()
	}
	return parseError("the body is neither a list nor an object", "")
}

// checkEnd is the outcome of a body that was read, and should end there.
func (d *decoder) checkEnd(ok bool) error {
	if !ok || !d.End() {
		return d.parseProblem()
	}
	return nil
}

// decoder reads the items of one body.
type decoder struct {
	scanner
	sub *Submission
	// skipped is how many bytes of the body were cut off before scanning.
	skipped int
	// spare is room for members that no item has yet.
	spare []Member
	// used is what the items take so far, see maxDecoded.
	used int
	// reserved of it has been asked for.
	reserve  func(n int64) error
	reserved int
	// nameless counts the items without a name.
	nameless int
	// outer: the batch's own token has been read, so that those of its items do not
	// matter.
	outer bool
	// refusal is the fault that is none of syntax.
	refusal error
}

// open checks the body's bytes and goes to its first one that is not blank.
func (d *decoder) open(body string) error {
	if text, ok := strings.CutPrefix(body, "\ufeff"); ok {
		body, d.skipped = text, len("\ufeff")
	}
	if !utf8.ValidString(body) {
		return &Refusal{Kind: Invalid, Code: "invalid_payload", Detail: fmt.Sprintf(
			"failed to decode request: invalid UTF8 in request payload at byte %d", d.skipped+invalidByte(body))}
	}
	d.scanner = newScanner(wire.ReplaceHalfPairs(body))
	if d.Space(); d.Pos == len(d.Src) {
		return &Refusal{Kind: Invalid, Code: "no_data", Detail: "request missing data payload"}
	}
	return nil
}

// parseProblem is why reading stopped.
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

// fields are the members of an object that mean something, as JSON text: empty
// when there is none, and null is the same. Of equal ones the last counts.
type fields struct {
	event, uuid, timestamp, offset string
	distinctID, dollarDistinctID   string
	apiKey, token, dollarToken     string
	properties, set, setOnce       []Member
	malformed                      bool // properties are neither object nor null
	batch, noBatch                 bool // batch is a list, or something else
	historical, sentAt             string
}

// readList reads the first shape of §3.1, a list of events.
func (d *decoder) readList() error {
	if err := d.checkEnd(d.List(d.readElement)); err != nil {
		return err
	}
	return d.checkItems()
}

// checkItems wants one item at least.
func (d *decoder) checkItems() error {
	if len(d.sub.Items) == 0 {
		return noEventError()
	}
	return nil
}

// notObjectError refuses a list for its element number n. There is no event in such a
// list that its sender meant, and the list may be long.
func notObjectError(n int) error {
	return parseError(fmt.Sprintf("item %d is not an object", n), "")
}

// readObject reads the other shapes of §3.1: a batch, which has a list of that
// name, or one event.
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

// readEnvelopeMember reads a member of the outermost object: that of a batch, or of an
// event.
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

// setHistorical reads historical_migration; false for what is no truth.
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

// limitSize lets members be kept only of the first maxAIEvent bytes of an item, and only
// maxMembers of each of its objects: a larger one is dropped for its size.
func (d *decoder) limitSize(start int) { d.limit, d.truncated = start+maxAIEvent, false }

// newItem adds an item. The first one's size tells how many may follow.
func (d *decoder) newItem(start int) *Item {
	if d.sub.Items == nil {
		rest := (len(d.Src) - d.Pos) / (d.Pos - start + 1)
		d.sub.Items = make([]Item, 0, 1+min(rest+rest/8, 1024))
	}
	d.sub.Items = append(d.sub.Items, Item{})
	return &d.sub.Items[len(d.sub.Items)-1]
}

// account adds an item with its members to what is taken.
func (d *decoder) account(members int) bool {
	if d.used += itemSize + members*memberSize; d.used <= maxDecoded {
		return d.used <= d.reserved || d.reserveMore()
	}
	d.refusal = &Refusal{Kind: TooLarge, Code: "payload_too_large", Detail: fmt.Sprintf(
		"maximum event size exceeded: the request holds more than can be taken in at once, send the events after number %d apart", len(d.sub.Items)-1)}
	return false
}

// reserveMore reserves memory for what has been taken, and some for what comes.
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

// assign keeps a member of which the text counts.
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

// tokenValue is the token that stands beside an event or a list, empty for none.
func (f *fields) tokenValue() string { return firstPresent(f.apiKey, f.token, f.dollarToken) }

// collect reads an object's members. Of another value it returns the text, and
// there are no members.
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

// growSpare makes room for some members in spare: at once for about as many as the
// rest of the body may hold, one for each 24 bytes.
func (d *decoder) growSpare() {
	if cap(d.spare) < 16 {
		d.spare = make([]Member, 0, min(max((len(d.Src)-d.Pos)/24, 16), 4096))
	}
}

// finish makes an item of what was read of it.
func (d *decoder) finish(it *Item, f *fields, size int) {
	it.Size = size
	it.Properties, it.Set, it.SetOnce = f.properties, f.set, f.setOnce
	id := firstPresent(f.distinctID, f.dollarDistinctID)
	token := f.tokenValue()
	if id == "" || token == "" && !d.outer {
		// Most events of browsers have both here (§15.3).
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
