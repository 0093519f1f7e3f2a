output "user_data" {
  value = provider::proxplane::cloud_config({ packages = ["nginx"] }, "#cloud-config\npackages: [git]\n")
}
