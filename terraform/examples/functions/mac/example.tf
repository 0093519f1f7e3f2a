output "mac" {
  value = provider::proxplane::mac("shop", "web-1", "lan")
}
