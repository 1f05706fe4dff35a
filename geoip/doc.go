// Package geoip says where in the world an address is, and which address a request comes from.
//
// # Where
//
// [Open] reads a City or Country database in MaxMind's layout: GeoLite2 and GeoIP2 of MaxMind, "IP to City Lite" and
// "IP to Country Lite" of DB-IP. [DB.Locate] answers with up to seven string properties ([Names]); a Country database
// gives only those of country and continent, and DB-IP's free City file has no postal code and no time zone. Names are the
// English ones. The country is the one where the address is used, never the one where it is registered. Loopback,
// private, link-local, multicast and unspecified addresses are never looked up.
//
// The file is read into memory, it is not memory-mapped. The cost is its size in memory (GeoLite2 City:
// 65 MB), twice while a replacement is read. The gain is that a file which is overwritten or truncated
// in place cannot crash the process or give half-written answers, as it could behind a memory map; that an old
// database is never unmapped under a reader, because the garbage collector keeps it until the last look-up is over;
// and that every pointer of the search tree can be checked before the database is used.
//
// [DB.Reload], [DB.Refresh] and [DB.Watch] take a replaced file into use while look-ups go on. A file that is missing, damaged, of
// another kind or still being written changes nothing: the last good database stays and the error is returned.
//
// The answers for the last 32,768 addresses are remembered, "nothing known" included, and forgotten
// when a file is reloaded.
//
// # Who
//
// Two readings of the forwarding headers exist, because they serve two purposes (decision 7):
//
//   - [CallerIP] believes everyone. It is for locating: a caller only changes what it is told about its own request, and
//     a back end must be able to ask for its user's place.
//   - [ClientIP] believes trusted proxies alone. It is for everything that protects the server: rate limits, logs, failed
//     sign-ins. A setting may make locating follow it too.
//
// The address that CallerIP returns must never decide a limit: any caller can choose it freely.
package geoip
