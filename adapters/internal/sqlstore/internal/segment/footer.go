package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumAt returns the place of the digits of the checksum in a footer, or -1 without them.
// The bytes that follow the last mark have the place of the page index.
func checksumAt(footer []byte) int {
	at := bytes.LastIndex(footer, []byte(checksumMark))
	if at < 0 || len(footer)-at < len(checksumMark)+8+1+16 {
		return -1
	}
	return at + len(checksumMark)
}

// checksumOf returns the checksum in a footer, and the place where the page index begins.
func checksumOf(footer []byte) (sum uint32, start int64, err error) {
	at := checksumAt(footer)
	if at < 0 {
		return 0, 0, damagedf("no checksum in the footer")
	}
	sum64, err := strconv.ParseUint(string(footer[at:at+8]), 16, 32)
	if err == nil {
		start, err = strconv.ParseInt(string(footer[at+9:at+25]), 16, 64)
	}
	if err != nil {
		return 0, 0, damaged(err)
	}
	return uint32(sum64), start, nil
}

// errNewer is the error for files of a later version.
var errNewer = errors.New("a newer version of bunting has written it; use that version or a later one")

// parseFooter decodes a footer with the right checksum, and checks the version.
func parseFooter(footer []byte) (meta *format.FileMetaData, err error) {
	defer recovered(&err)
	meta = &format.FileMetaData{}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, meta); err != nil {
		return nil, damaged(err)
	}
	for _, entry := range meta.KeyValueMetadata {
		if entry.Key != versionKey {
			continue
		}
		switch version, err := strconv.Atoi(entry.Value); {
		case err != nil || version < 1:
			return nil, damagedf("version %q", entry.Value)
		case version > formatVersion:
			return nil, fmt.Errorf("its format has the version %d, and this program reads up to %d: %w", version, formatVersion, errNewer)
		}
		return meta, nil
	}
	return nil, damagedf("no %s in the footer", versionKey)
}
