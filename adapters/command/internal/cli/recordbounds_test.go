package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// A record at the maximum size and one byte above it, and what follows it. The end of a line belongs
// to the line.
func TestRecords_MaxSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		want []string
	}{
		{"123456789\nx", []string{"123456789", "x"}},
		{"1234567890\nx", []string{"too long", "x"}},
		{"1234567890", []string{"1234567890"}},
		{"12345678901", []string{"too long"}},
		{strings.Repeat("1", 70_000) + "\nx", []string{"too long", "x"}}, // more than one buffer
		{"[1234567890,1]", []string{"1234567890", "1"}},
		{"[12345678901,1]", []string{"too long", "1"}},
		{"[" + strings.Repeat(`"]",`, 3) + strings.Repeat("1", 70_000) + "]", []string{`"]"`, `"]"`, `"]"`, "too long"}},
		{"[ 1234567890 ]", []string{"too long"}}, // blanks after a value count until its end
	} {
		rs, err := NewRecords(strings.NewReader(c.file), 10)
		var got []string
		for err == nil {
			var text []byte
			if text, err = rs.Next(); errors.Is(err, ErrTooLong) {
				text, err = []byte("too long"), nil
			}
			if err == nil {
				got = append(got, string(text))
			}
		}
		if !slices.Equal(got, c.want) || !errors.Is(err, io.EOF) {
			t.Errorf("%.20q: %q, %v, want %q", c.file, got, err, c.want)
		}
	}
}

// The number of bytes that were read, and a comma before the end of a list.
func TestRecords_Counters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file   string
		offset int64
		list   bool
		comma  bool
	}{
		{"", 0, false, false}, {"a\n", 2, false, false}, {"\ufeffa\nb", 6, false, false}, {"\n\na", 3, false, false},
		{"[1,2]", 5, true, false}, {"[1,2,]", 6, true, true}, {"[1,\n ]", 6, true, true}, {"[]", 2, true, false}, {" [ ]", 4, true, false}, {"[1]x", 3, true, false},
	} {
		rs, err := NewRecords(strings.NewReader(c.file), 100)
		for err == nil {
			_, err = rs.Next()
		}
		if rs.Offset != c.offset || rs.List != c.list || rs.Comma != c.comma || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %d bytes, list %v, comma %v, %v", c.file, rs.Offset, rs.List, rs.Comma, err)
		}
	}
}

// A file of gzip that is cut off or damaged is an error, and not the end of the records.
func TestRecords_BadGzip(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(strings.Repeat("record\n", 1000))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := zipped.Bytes()
	damaged := bytes.Clone(file)
	damaged[len(damaged)-5] ^= 1 // in the checksum and length at the end (RFC 1952 §2.3.1)
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"whole": {file, io.EOF}, "cut off": {file[:len(file)-9], io.ErrUnexpectedEOF}, "the head": {file[:5], io.ErrUnexpectedEOF}, "damaged": {damaged, gzip.ErrChecksum},
		"twice": {append(bytes.Clone(file), file...), io.EOF}, // several members are one file (§2.2)
	} {
		rs, err := NewRecords(bytes.NewReader(c.file), 100)
		n := 0
		for err == nil {
			if _, err = rs.Next(); err == nil {
				n++
			}
		}
		if !errors.Is(err, c.want) || name == "whole" && n != 1000 || name == "twice" && n != 2000 {
			t.Errorf("%s: %d records, %v, want %v", name, n, err, c.want)
		}
	}
}
