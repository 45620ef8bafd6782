"""Does `accelbench explain` name the planted causes, and no others?"""
