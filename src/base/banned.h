/* SPDX-License-Identifier: MIT
 *
 * Calls that have a safer twin do not compile. Include last, in every .c file of the tool.
 * strcpy/strcat/sprintf: snprintf or buf; strtok: strcspn; atoi: parse_u64; gmtime: gmtime_r;
 * alloca: arena. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#define BANNED(call) leadline_banned_##call##_see_base_banned_h

#undef strcpy
#define strcpy BANNED(strcpy)
#undef strcat
#define strcat BANNED(strcat)
#undef strncpy
#define strncpy BANNED(strncpy)
#undef strncat
#define strncat BANNED(strncat)
#undef sprintf
#define sprintf BANNED(sprintf)
#undef vsprintf
#define vsprintf BANNED(vsprintf)
#undef strtok
#define strtok BANNED(strtok)
#undef atoi
#define atoi BANNED(atoi)
#undef atol
#define atol BANNED(atol)
#undef atof
#define atof BANNED(atof)
#undef gmtime
#define gmtime BANNED(gmtime)
#undef localtime
#define localtime BANNED(localtime)
#undef ctime
#define ctime BANNED(ctime)
#undef alloca
#define alloca BANNED(alloca)

#endif
