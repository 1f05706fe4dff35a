package wire

// CookielessID is the distinct id that browsers send if they store no data on the device. All such
// visitors share it, so it does not identify a person.
const CookielessID = "$posthog_cookieless"
