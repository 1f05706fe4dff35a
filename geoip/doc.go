// Package geoip determines the location of an IP address, and the IP address of a request.
//
// # Where
//
// [Open] reads a City or Country database in MaxMind's layout: GeoLite2 and GeoIP2 of MaxMind, "IP
// to City Lite" and "IP to Country Lite" of DB-IP. [DB.Locate] returns up to seven string
// properties; a Country database contains only those of country and continent, and DB-IP's free
// City file has no postal code and no time zone. Names are in English. The country is the one where
// the address is used, never the one where it is registered. Loopback, private, link-local,
// multicast and unspecified addresses are never looked up.
//
// The file is read into memory and not memory-mapped. This costs memory of the size of the file
// (GeoLite2 City: 65 MB), twice while a replacement is read. In return, a file that is overwritten
// or truncated in place cannot crash the process or cause corrupt results, as it could with a
// memory map; an old database is never unmapped during a lookup, because the garbage collector
// retains it until the last lookup ends; and every pointer of the search tree is checked before the
// database is used.
//
// [DB.Reload], [DB.Refresh] and [DB.Watch] replace the database during concurrent lookups. If a
// file is missing, damaged, of another kind or still being written, they return an error and the
// last good database remains in use.
//
// The results for the last 32,768 addresses are cached, including negative ones; a reload clears
// the cache.
//
// # Who
//
// There are two functions that read the forwarding headers, for two purposes (decision 7):
//
//   - [CallerIP] trusts every client. It is for locating: a client can only affect results for its own
//     request, and a back end must be able to request the location of its user.
//   - [ClientIP] trusts only configured proxies. It is for everything that protects the server: rate
//     limits, logs, failed sign-ins. A setting may make locating use it too.
//
// The address that CallerIP returns must never decide a limit: any client can choose it freely.
package geoip
