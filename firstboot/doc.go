// Package firstboot makes the first-boot data of guests: the files of a NoCloud drive
// (user-data, meta-data, network-config) and the ISO image with them.
//
// User-data is what cloud-init takes (a cloud-config, a script, MIME multipart), a machine
// config of Talos, or an Ignition config, which may be written as Butane. Everything is
// checked here, since a guest that can't read its first-boot data usually reports no error.
//
// A [Recipe] has all that the files of one guest are made from.
package firstboot
