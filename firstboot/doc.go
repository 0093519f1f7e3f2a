// Package firstboot makes what a guest gets at its first boot: the files of a
// NoCloud drive (user-data, meta-data, network-config) and the ISO image that
// holds them.
package firstboot
