package featureflags

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// MemberKind is what the members of a list are named by.
type MemberKind int

// The kinds of members.
const (
	DistinctIDs MemberKind = iota
	PersonIDs              // uuids of persons
	Emails                 // the person property email
)

// MemberList are members of a static cohort.
type MemberList struct {
	Kind   MemberKind
	Values []string // none is empty
}

// MaxRows is how many rows a file of members may have.
const MaxRows = 100_000

// THE TABLE: headers of columns with members, the best first (§5.2), in lower
// case.
var memberHeaders = []struct {
	kind  MemberKind
	names []string
}{
	{PersonIDs, []string{"person_id", "person-id", "person .id"}},
	{DistinctIDs, []string{"distinct_id", "distinct-id"}},
	{Emails, []string{"email", "e-mail"}},
}

// utf8Mark may begin a file that is UTF-8.
const utf8Mark = "\ufeff"

// ReadMembers reads the members of a static cohort out of a CSV file (§5.2). A
// single column needs no header: then it holds distinct ids. Errors are *Error at
// the field csv.
func ReadMembers(file io.Reader) (*MemberList, error) {
	r := csv.NewReader(file)
	r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true
	first, err := r.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	header := slices.Clone(first)
	header[0] = strings.TrimPrefix(header[0], utf8Mark)
	for len(header) > 1 && strings.TrimSpace(header[len(header)-1]) == "" { // a comma at the end is no column
		header = header[:len(header)-1]
	}
	list, column, hasHeader := memberColumn(header)
	if !hasHeader && len(header) > 1 {
		return nil, management.Fault("csv", "The file has several columns and none with ids: one has to be called person_id, distinct_id or email. Found: %s", strings.ToValidUTF8(strings.Join(header, ", "), "?"))
	}
	rows := 0
	if !hasHeader {
		if err := list.add(header[0]); err != nil {
			return nil, err
		}
		rows = 1
	}
	for ; ; rows++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if rows == MaxRows {
			return nil, management.Fault("csv", "The file has more than %d rows.", MaxRows)
		}
		if column < len(row) {
			if err := list.add(row[column]); err != nil {
				return nil, err
			}
		}
	}
	if len(list.Values) == 0 {
		return nil, management.Fault("csv", "The file has no valid ids.")
	}
	return list, nil
}

// memberColumn finds the column with the members; named is whether a header said so.
func memberColumn(header []string) (list *MemberList, column int, hasHeader bool) {
	for _, h := range memberHeaders {
		for i, name := range header {
			if slices.Contains(h.names, strings.ToLower(strings.TrimSpace(name))) {
				return &MemberList{Kind: h.kind}, i, true
			}
		}
	}
	return &MemberList{Kind: DistinctIDs}, 0, false
}

// add takes a value; what cannot be one of the kind is left out.
func (l *MemberList) add(value string) error {
	if !utf8.ValidString(value) {
		return management.Fault("csv", "The file is not UTF-8.")
	}
	value = strings.TrimSpace(value)
	if l.Kind == PersonIDs {
		value, _ = management.NormalizeUUID(value)
	}
	if value != "" && !strings.ContainsRune(value, 0) {
		l.Values = append(l.Values, value)
	}
	return nil
}

func csvFault(err error) error {
	var malformed *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return management.Fault("csv", "The file is empty.")
	case errors.As(err, &malformed):
		return management.Fault("csv", "The file is malformed: line %d, column %d: %s", malformed.Line, malformed.Column, malformed.Err)
	}
	return management.Fault("csv", "The file cannot be read.")
}
