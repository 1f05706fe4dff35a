package segment

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/capture"
)

// The columns, in the order of the file.
const (
	idColumn = iota
	uuidColumn
	timeColumn
	arrivedColumn
	nameColumn
	distinctColumn
	personColumn
	createdColumn
	modeColumn
	historicalColumn
	elementsColumn
	propertiesColumn
	stateColumn
	columnCount
)

// column is a column of a file. The columns that all files have are required, so pages have no levels.
type column struct {
	name      string
	physical  format.Type
	logical   format.LogicalTypeValue
	converted thrift.Null[deprecated.ConvertedType] // of older readers
	// encoding is that of the data pages. A group in which most values of a column with a dictionary
	// differ may have plain pages instead, see plain.
	encoding format.Encoding
	// hasBounds reports whether the footer has the least and the greatest value of each page.
	hasBounds bool
}

// isOptional reports whether an event may have no value. These are the columns of properties, which
// follow the others.
func (c *column) isOptional() bool { return strings.HasPrefix(c.name, propertyPrefix) }

var (
	micros      = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	oldMicros   = thrift.New(deprecated.TimestampMicros)
	oldText     = thrift.New(deprecated.UTF8)
	oldJSON     = thrift.New(deprecated.Json)
	noConverted thrift.Null[deprecated.ConvertedType]
)

var columns = [columnCount]column{
	idColumn:         {"id", format.Int64, nil, noConverted, format.DeltaBinaryPacked, true},
	uuidColumn:       {"uuid", format.FixedLenByteArray, &format.UUIDType{}, noConverted, format.Plain, false},
	timeColumn:       {"timestamp", format.Int64, micros, oldMicros, format.DeltaBinaryPacked, true},
	arrivedColumn:    {"received_at", format.Int64, micros, oldMicros, format.DeltaBinaryPacked, true},
	nameColumn:       {"event", format.ByteArray, &format.StringType{}, oldText, format.RLEDictionary, true},
	distinctColumn:   {"distinct_id", format.ByteArray, &format.StringType{}, oldText, format.RLEDictionary, false},
	personColumn:     {"person_id", format.FixedLenByteArray, &format.UUIDType{}, noConverted, format.RLEDictionary, false},
	createdColumn:    {"person_created_at", format.Int64, micros, oldMicros, format.RLEDictionary, false},
	modeColumn:       {"person_mode", format.ByteArray, &format.StringType{}, oldText, format.RLEDictionary, false},
	historicalColumn: {"historical", format.Boolean, nil, noConverted, format.Plain, false},
	elementsColumn:   {"elements_chain", format.ByteArray, &format.StringType{}, oldText, format.DeltaLengthByteArray, false},
	propertiesColumn: {"properties", format.ByteArray, &format.JsonType{}, oldJSON, format.DeltaLengthByteArray, false},
	stateColumn:      {"person_properties", format.ByteArray, &format.JsonType{}, oldJSON, format.DeltaLengthByteArray, false},
}

// plain is the encoding of the data pages of a column in groups without a dictionary.
func (c *column) plain() format.Encoding {
	switch {
	case c.encoding != format.RLEDictionary:
		return c.encoding
	case c.physical == format.ByteArray:
		return format.DeltaLengthByteArray
	case c.physical == format.Int64:
		return format.DeltaBinaryPacked
	}
	return format.Plain
}

// modes are the values of the column person_mode.
var modes = [...]capture.PersonMode{capture.Full, capture.Propertyless, capture.ForceUpgrade}

const (
	// shortRows is the maximum number of rows of a page.
	shortRows = 4096
	// uuidRows is the maximum number of rows of a page of UUIDs, which are hardly compressed.
	uuidRows = 1024
	// maxTail is the maximum size of the page index and the footer: some 3,000 groups.
	maxTail = 32 << 20
	// maxGroups is the maximum number of groups of a file in the Parquet format.
	maxGroups = math.MaxInt16
)

// longBytes is the maximum size of the values of a page of strings without a dictionary, before
// compression, unless it has only one row. Properties of events and persons get shorter in larger pages, the other columns
// hardly.
var longBytes = [columnCount]int{distinctColumn: 32 << 10, elementsColumn: 64 << 10, propertiesColumn: 120 << 10, stateColumn: 120 << 10}

const (
	// magic begins and ends a file.
	magic = "PAR1"
	// versionKey is the key of the version in the metadata of a file.
	versionKey = "bunting.version"
	// formatVersion is the version of the files that this package writes, and the last one that it
	// reads. Version 1 had dictionaries for the distinct ids and persons of all groups.
	formatVersion = 2
	// othersKey is the key of the names of properties that have no column, as a JSON list. Properties
	// that are not there either do not occur in the file. The key is missing if the names are too many.
	othersKey = "bunting.properties"
	// checksumKey is the key of the checksum of page index and footer, which the Parquet format does
	// not have. Its value is checksumMark, the checksum with eight hexadecimal digits, and the
	// place where the page index begins with sixteen. The checksum is the CRC-32C of all bytes from
	// that place to the end of the footer, with zeros for the digits of the checksum.
	checksumKey  = "bunting.checksum"
	checksumMark = "crc32c:"
	checksumForm = checksumMark + "%08x:%016x"
)

// propertyPrefix precedes the name of the property in the name of a column.
const propertyPrefix = "properties."

// propertyColumn returns the column of a property.
func propertyColumn(name string) *column {
	return &column{propertyPrefix + name, format.ByteArray, &format.JsonType{}, oldJSON, format.RLEDictionary, false}
}

// fixedColumns returns the columns that all files have.
func fixedColumns() []*column {
	list := make([]*column, columnCount)
	for i := range list {
		list[i] = &columns[i]
	}
	return list
}

// schema returns the elements of the schema: the root, then the columns.
func schema(columns []*column) []format.SchemaElement {
	list := []format.SchemaElement{{Name: "events", NumChildren: thrift.New(int32(len(columns)))}}
	for _, c := range columns {
		repetition := format.Required
		if c.isOptional() {
			repetition = format.Optional
		}
		e := format.SchemaElement{
			Name: c.name, Type: thrift.New(c.physical), RepetitionType: thrift.New(repetition),
			LogicalType: format.LogicalType{Value: c.logical}, ConvertedType: c.converted,
		}
		if c.physical == format.FixedLenByteArray {
			e.TypeLength.Set(uuidSize)
		}
		list = append(list, e)
	}
	return list
}

// uuidSize is the number of bytes of a UUID.
const uuidSize = 16

// numberBytes returns a number as statistics have it.
func numberBytes(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// number returns a number of statistics, or 0.
func number(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}
