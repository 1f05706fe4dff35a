package block

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/zstd"
)

// A stored string of bytes is
//
//	version      one byte
//	kind         one byte, twice the kind, plus 1 if the content is compressed
//	checksum     four bytes: CRC-32C of all other bytes
//	length       of the content before compression, as a varint
//	content      compressed with zstd, unless it is short or does not get shorter
//
// The checksum is verified first, so that damage is found before memory is allocated.

// version is the first byte of every stored string.
const version = 2

// The kinds of stored strings.
const (
	kindNames = iota
	kindPeople
	kindOrigins
	kindChunk
	kindFilter
	kindHashes
	kindShort
	kindKeys
)

// compressed has the kinds that are compressed. The rest would get hardly shorter: they have random
// bits, and differences of times.
var compressed = [...]bool{kindPeople: true, kindChunk: true, kindKeys: false}

const (
	// headerSize is the number of bytes before the length.
	headerSize = 6
	// minCompressed is the length from which contents are compressed: compressing a string of any
	// length takes some 30 µs.
	minCompressed = 4 << 10
	// MaxContent is the maximum length of a content before compression. The longest is a chunk
	// with the largest possible event.
	MaxContent = 64 << 20
)

// ErrDamaged is the error for a string of bytes that cannot be decoded.
var ErrDamaged = errors.New("stored events are damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoder is shared, because it keeps its memory between uses. Its window is as long as its
// blocks, so that a chunk is one block. The level must follow the window: it would set shorter
// blocks.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithWindowSize(128<<10), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})

// decoder is shared and limits the length of what it decodes.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxContent), zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.IgnoreChecksum(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
})

// seal appends the stored form of a content to dst.
func seal(dst []byte, kind byte, content []byte) []byte {
	capacity := len(content)
	if compressed[kind] && len(content) >= minCompressed {
		capacity /= 2
	}
	first := len(dst)
	dst = append(slices.Grow(dst, headerSize+binary.MaxVarintLen32+capacity), version, kind<<1, 0, 0, 0, 0)
	dst = binary.AppendUvarint(dst, uint64(len(content)))
	start := len(dst)
	if compressed[kind] && len(content) >= minCompressed {
		dst = encoder().EncodeAll(content, dst)
		dst[first+1] |= 1
	}
	if dst[first+1]&1 == 0 || len(dst)-start >= len(content) {
		dst = append(dst[:start], content...)
		dst[first+1] &^= 1
	}
	binary.LittleEndian.PutUint32(dst[first+2:], checksum(dst[first:]))
	return dst
}

// checksum returns the checksum of a stored string.
func checksum(data []byte) uint32 {
	return crc32.Update(crc32.Checksum(data[:2], castagnoli), castagnoli, data[headerSize:])
}

// open returns the content of a stored string of the given kind, which has at most limit bytes. It
// may share the memory of data, which must not be modified any more.
func open(kind byte, data []byte, limit int) (string, error) {
	content, err := openInto(nil, kind, data, limit)
	return unsafe.String(unsafe.SliceData(content), len(content)), err
}

// openInto is like open, but uses the memory of a buffer for a compressed content if it has room.
func openInto(buffer []byte, kind byte, data []byte, limit int) ([]byte, error) {
	if len(data) < headerSize || data[0] != version || data[1]>>1 != kind || binary.LittleEndian.Uint32(data[2:]) != checksum(data) {
		return nil, ErrDamaged
	}
	length, n := binary.Uvarint(data[headerSize:])
	if n <= 0 || length > uint64(limit) {
		return nil, ErrDamaged
	}
	content := data[headerSize+n:]
	if data[1]&1 != 0 {
		if uint64(cap(buffer)) < length {
			buffer = make([]byte, 0, length)
		}
		var err error
		if content, err = decoder().DecodeAll(content, buffer[:0]); err != nil {
			return nil, ErrDamaged
		}
	}
	if uint64(len(content)) != length {
		return nil, ErrDamaged
	}
	return content, nil
}
