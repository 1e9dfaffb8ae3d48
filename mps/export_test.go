package mps

// The parsers of protocol 3, for tests of many replies.
var (
	ParseV3Servers    = parseV3Servers
	ParseV3Namespaces = parseV3Namespaces
	ParseV3Clients    = parseV3Clients
	ParseV3Devices    = parseV3Devices
	ParseV3Partitions = parseV3Partitions
	ParseV3Features   = parseV3Features
)
