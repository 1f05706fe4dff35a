package natsstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// bodyVersion is the first byte of a message. The rest is compressed with s2, and is a list of
	// encoded batches, each after its length.
	bodyVersion = 1
	// maxBody is the maximum size of an uncompressed body: events are limited, so a larger body is
	// damaged.
	maxBody = 64 << 20
)

// messageName is the content of a message's header Nats-Msg-Id.
type messageName struct {
	ID          capture.UUID
	Part, Parts int
	Attempt     string
}

func (n messageName) String() string {
	return fmt.Sprintf("%s.%d.%d.%s", n.ID, n.Part, n.Parts, n.Attempt)
}

func parseName(text string) (n messageName, ok bool) {
	f := strings.SplitN(text, ".", 4)
	if len(f) != 4 {
		return n, false
	}
	var err1, err2 error
	n.ID, ok = wire.ParseUUID(f[0])
	n.Part, err1 = strconv.Atoi(f[1])
	n.Parts, err2 = strconv.Atoi(f[2])
	n.Attempt = f[3]
	return n, ok && err1 == nil && err2 == nil && n.Part >= 0 && n.Part < n.Parts
}

// nameOf returns a message's name. A message without a name gets an id that is the same whenever it
// is read. named reports whether it has one.
func nameOf(header nats.Header, seq uint64, data []byte) (n messageName, named bool) {
	if n, named = parseName(header.Get(nats.MsgIdHdr)); named {
		return n, true
	}
	h := murmur3.New128()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, seq))
	_, _ = h.Write(data)
	n = messageName{Parts: 1}
	h.Sum(n.ID[:0])
	return n, false
}

// assembly joins the parts of the messages of a subject.
type assembly struct {
	name      messageName
	parts     [][]byte
	positions []capture.StreamPosition
}

// add adds the next part, and reports whether the message is complete. strays are the positions of
// parts without a predecessor or successor, which belong to a message that was never acknowledged.
func (a *assembly) add(name messageName, pos capture.StreamPosition, data []byte) (complete bool, strays []capture.StreamPosition) {
	if name.Part != 0 && (name.Part != len(a.parts) || name.ID != a.name.ID || name.Attempt != a.name.Attempt) {
		strays = append(a.positions, pos)
		*a = assembly{}
		return false, strays
	}
	if name.Part == 0 {
		strays = a.positions
		*a = assembly{name: name}
	}
	a.parts, a.positions = append(a.parts, data), append(a.positions, pos)
	return len(a.parts) == name.Parts, strays
}

// take returns the complete message and resets the assembly.
func (a *assembly) take() []byte {
	parts := a.parts
	*a = assembly{}
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

// body encodes a message with encoded batches.
func body(batches [][]byte) []byte {
	size := 0
	for _, b := range batches {
		size += len(b) + binary.MaxVarintLen64
	}
	plain := make([]byte, 0, size)
	for _, b := range batches {
		plain = append(binary.AppendUvarint(plain, uint64(len(b))), b...)
	}
	out := make([]byte, 1+s2.MaxEncodedLen(len(plain)))
	out[0] = bodyVersion
	return out[:1+len(s2.Encode(out[1:], plain))]
}

// parseBody parses a message that was encoded by body.
func parseBody(data []byte) ([]*capture.Batch, error) {
	if len(data) == 0 || data[0] != bodyVersion {
		return nil, errors.New("the message has a format that this version does not support")
	}
	if n, err := s2.DecodedLen(data[1:]); err != nil || n > maxBody {
		return nil, errors.New("the message is damaged")
	}
	plain, err := s2.Decode(nil, data[1:])
	if err != nil {
		return nil, fmt.Errorf("the message is damaged: %w", err)
	}
	var list []*capture.Batch
	for rest := string(plain); rest != ""; {
		n, used := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, errors.New("the message is damaged")
		}
		b, err := capture.ParseBatch(rest[used : used+int(n)])
		if err != nil {
			return nil, err
		}
		list, rest = append(list, b), rest[used+int(n):]
	}
	return list, nil
}
