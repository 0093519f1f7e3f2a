// Package firstboot makes what a guest gets at its first boot: the files of a
// NoCloud drive (user-data, meta-data, network-config) and the ISO image that
// holds them.
//
// User-data is what cloud-init takes (a cloud-config, a script, MIME multipart),
// a machine config of Talos, or an Ignition config, which may be written as
// Butane. Everything is checked before it leaves: a guest that can't read its
// first-boot data mostly says nothing at all.
//
// A [Recipe] has all that the files of one guest are made from.
package firstboot
