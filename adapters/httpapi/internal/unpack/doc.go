// Package unpack decodes the bodies of requests of SDKs: gzip, deflate, brotli, zstd, LZ-string,
// base64 and forms. The size of the result is limited, and its memory is that of a lease of package
// admission.
//
// [Body] decodes the body of a request for flags according to its headers and its first bytes
// (body.go, unpacker.go). Capture decides itself what it decodes: [ByEncoding] has the encodings of
// protocol v1 (encodings.go), and [Gunzip], [LeasedLZ64] and [UndoBase64] are for v0 (gzip.go,
// text.go). lz64.go decodes LZ-string.
package unpack
