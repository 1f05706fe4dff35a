package geoip

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	geoip2 "github.com/oschwald/geoip2-golang/v2"

	"github.com/bunting-flags/bunting/flags/wire"
)

var (
	// ErrWrongKind is returned for a database without City or Country records in MaxMind's layout.
	ErrWrongKind = errors.New("not a City or Country database in MaxMind's layout")
	// ErrDamaged is returned for a file that is not a database, or a truncated or damaged one.
	ErrDamaged = errors.New("not a readable MaxMind database")
	// ErrClosed is returned if a DB is used after Close.
	ErrClosed = errors.New("geoip: database is closed")
)

const (
	// maxFileSize is the maximum size of a file that is read into memory, in bytes; the largest
	// published files are well below it.
	maxFileSize = 1<<31 - 1
	// sampledNetworks is the number of networks of each address family that are decoded before a
	// file is accepted.
	sampledNetworks = 4096
	// separatorSize is the number of zero bytes between the search tree and the data.
	separatorSize = 16

	sourcesHint = "get GeoLite2 or GeoIP2 City or Country of MaxMind, or \"IP to City Lite\" or \"IP to Country Lite\" of DB-IP, " +
		"as an .mmdb file; the flat @ip-location-db builds and ASN, ISP and other kinds do not hold what is needed"
)

// metadataMarker precedes the metadata, which are at the end of the file.
var metadataMarker = []byte("\xAB\xCD\xEFMaxMind.com")

// readFile returns the content of path and the state of the file that was read. It returns the
// state also with an error, nil if there is no file, so that a caller can distinguish a new fault
// from one that it has reported.
func readFile(path string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	// This check must precede os.Open, because opening a pipe would block.
	if !info.Mode().IsRegular() {
		return nil, info, fmt.Errorf("%s: %w: not a regular file", path, ErrDamaged)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, info, err
	}
	defer func() { _ = f.Close() }() // opened for reading, so an error loses no data
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if info.Size() > maxFileSize {
		return nil, info, fmt.Errorf("%s: %d bytes are more than the limit of %d", path, info.Size(), int64(maxFileSize))
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, info, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, info, err
	}
	if !sameState(info, after) {
		return nil, info, fmt.Errorf("%s: %w: it was written to while it was read", path, ErrDamaged)
	}
	return data, info, nil
}

// sameState reports whether a and b describe the same file, unchanged; nil means that there is no
// file.
func sameState(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && wire.ChangeTime(a).Equal(wire.ChangeTime(b))
}

// openReader checks data and returns a reader for it. It refuses data that is not a City or Country
// database, a search tree with an invalid pointer, and a file whose first networks cannot be
// decoded or have no location.
func openReader(data []byte) (*geoip2.Reader, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) || bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return nil, fmt.Errorf("%w: it is compressed, unpack the .mmdb file first", ErrDamaged)
	}
	r, err := geoip2.OpenBytes(data)
	if unknown := (geoip2.UnknownDatabaseTypeError{}); errors.As(err, &unknown) {
		return nil, wrongKind(fmt.Sprintf("database type %q", unknown.DatabaseType))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	_, err = r.City(netip.IPv4Unspecified())
	if other := (geoip2.InvalidMethodError{}); errors.As(err, &other) {
		return nil, wrongKind(fmt.Sprintf("database type %q", other.DatabaseType))
	}
	meta := r.Metadata()
	if meta.IPVersion != 4 && meta.IPVersion != 6 {
		return nil, fmt.Errorf("%w: IP version %d", ErrDamaged, meta.IPVersion)
	}
	if err := checkTree(data, uint64(meta.NodeCount), uint64(meta.RecordSize)); err != nil {
		return nil, err
	}
	if err := checkRecords(r); err != nil {
		return nil, err
	}
	return r, nil
}

func wrongKind(problem string) error {
	return fmt.Errorf("%w: %s: %s", ErrWrongKind, problem, sourcesHint)
}

// nodeReaders are the functions that read the two records of a node, by the size of a record in
// bits.
var nodeReaders = map[uint64]func(b []byte) (left, right uint64){
	24: func(b []byte) (uint64, uint64) {
		return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2]), uint64(b[3])<<16 | uint64(b[4])<<8 | uint64(b[5])
	},
	28: func(b []byte) (uint64, uint64) { // the middle byte contains the top four bits of both
		return uint64(b[3]>>4)<<24 | uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2]),
			uint64(b[3]&0x0f)<<24 | uint64(b[4])<<16 | uint64(b[5])<<8 | uint64(b[6])
	},
	32: func(b []byte) (uint64, uint64) {
		return uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3]),
			uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
	},
}

// checkTree checks that the tree, the separator and the data are at the positions given by the
// metadata, and that each record of the tree is a node, "nothing", or a position in the data. It
// takes about 10 ns per node, 60 ms for GeoLite2 City.
func checkTree(data []byte, nodes, recordBits uint64) error {
	read, ok := nodeReaders[recordBits]
	if !ok {
		return fmt.Errorf("%w: record size %d", ErrDamaged, recordBits)
	}
	width := recordBits / 4
	dataEnd := uint64(max(0, bytes.LastIndex(data, metadataMarker)))
	if nodes == 0 || nodes > dataEnd/width || nodes*width+separatorSize > dataEnd {
		return fmt.Errorf("%w: %d nodes do not fit into the file", ErrDamaged, nodes)
	}
	tree := nodes * width
	if !bytes.Equal(data[tree:tree+separatorSize], make([]byte, separatorSize)) {
		return fmt.Errorf("%w: the search tree does not end after %d nodes", ErrDamaged, nodes)
	}
	first, limit := nodes+separatorSize, nodes+dataEnd-tree
	leads := func(record uint64) bool { return record <= nodes || record >= first && record < limit }
	for n := range nodes {
		left, right := read(data[n*width : (n+1)*width])
		if !leads(left) || !leads(right) {
			return fmt.Errorf("%w: node %d of the search tree leads outside of the file", ErrDamaged, n)
		}
	}
	return nil
}

// checkRecords decodes the first networks of each family. The second start is after the IPv4
// addresses, which an IPv6 tree contains in ::/96.
func checkRecords(r *geoip2.Reader) error {
	starts := []string{"0.0.0.0", "0:0:0:1::"}
	if r.Metadata().IPVersion == 4 {
		starts = starts[:1]
	}
	located := false
	for _, start := range starts {
		ip := netip.MustParseAddr(start)
		for n := 0; n < sampledNetworks && ip.IsValid(); n++ {
			record, err := r.City(ip)
			if err != nil {
				return wrongKind(fmt.Sprintf("the record of %s does not fit or is damaged (%v)", ip, err))
			}
			located = located || properties(record) != nil
			ip = after(ip, record.Traits.Network)
		}
	}
	if !located {
		return wrongKind("no record names a country or a place")
	}
	return nil
}

// after returns the first address after network, which contains ip, or the zero Addr at the end of
// the address space.
func after(ip netip.Addr, network netip.Prefix) netip.Addr {
	if !network.IsValid() || !network.Contains(ip) {
		return netip.Addr{} // an IPv6 tree without IPv4 returns its IPv6 network: there are no further networks
	}
	last := network.Addr().AsSlice()
	for bit := network.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return end.Next()
}
